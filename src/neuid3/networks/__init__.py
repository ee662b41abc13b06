"""Small networks: the defaults, many run and trained as one, their optimizer, inputs and compiled kernel."""
