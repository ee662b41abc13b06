"""Utilities without domain knowledge: atomic file writes, locks, the cache folder, PNG encoding, processes, console output."""
