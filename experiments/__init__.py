"""The paper's experiments: data, baselines, runs, published numbers and the tables that compare them.

They use the library and are no part of it: `python -m experiments --help`, in a checkout of the repository.
"""
