"""Node tests, trees, and the exact inference of a tree."""
