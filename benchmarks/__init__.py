"""Speed and memory of the library, and studies of what its defaults and shortcuts contribute.

`python -m benchmarks` measures ratios of times; each study is a script of its own, such as `python -m benchmarks.soak`.
"""
