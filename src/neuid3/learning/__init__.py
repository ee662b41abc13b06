"""NeuID3: candidates, splits, growing, joint training, regrowing and checkpoints."""
