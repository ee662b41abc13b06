"""How are models kept on disk? As JSON, ProbLog text and safetensors in one file, from which no code is ever run."""
