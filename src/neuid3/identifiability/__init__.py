"""What the values of a tree's networks are determined up to: symmetries, re-readings, and labels that settle them."""
