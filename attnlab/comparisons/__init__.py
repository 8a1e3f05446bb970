"""Many runs: which to make, how to run them, and their combined results."""
