"""What are the parts of the default recipe worth? How fast everything is, `neuid3 bench` tells."""
