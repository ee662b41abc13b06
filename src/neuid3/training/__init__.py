"""Batched training of networks: configurations, tasks, restarts and successive halving, here or on a cluster."""
