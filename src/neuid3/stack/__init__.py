"""Many networks of one architecture, run and trained as one."""

from neuid3.stack.adam import Adam, Moments, one_cycle
from neuid3.stack.fetch import Album, Change
from neuid3.stack.stacks import Quick, Stack, architecture, stack

__all__ = ["Adam", "Album", "Change", "Moments", "Quick", "Stack", "architecture", "one_cycle", "stack"]
