"""The modules that import ProbLog; they run in a child process whose time and memory are limited."""
