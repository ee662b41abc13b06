"""The rooms that speak ProbLog. They run in a child process whose time and memory are limited."""
