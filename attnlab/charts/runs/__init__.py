"""Charts of runs: losses, what is inside, what was predicted."""
