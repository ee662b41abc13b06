"""What is the best test at a node? Symbolic tests are counted, neural ones trained, all of them scored in bits."""

from neuid3.learn.node import NodeLearner
from neuid3.learn.sample import Instance, Option, Sample, same_weights

__all__ = ["Instance", "NodeLearner", "Option", "Sample", "same_weights"]
