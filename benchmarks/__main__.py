"""The command `python -m benchmarks`."""

from benchmarks.commands import bench

if __name__ == "__main__":
    bench()
