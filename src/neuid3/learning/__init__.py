"""NeuID3: candidates, splits, growth, joint training, regrowing and checkpoints."""
