"""Atomic file writes, the cache folder, PNG bytes and processes: what every package needs and none is about."""
