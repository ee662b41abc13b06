"""Batched training of networks: configurations, tasks, restarts and successive halving, on one machine or a cluster."""
