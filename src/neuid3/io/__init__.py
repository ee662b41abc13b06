"""Model files of JSON, ProbLog text and safetensors, which are loaded without running code, and the bank of trained tests."""
