"""Small networks: default networks, network groups, their optimizer, input augmentation and compiled kernel."""
