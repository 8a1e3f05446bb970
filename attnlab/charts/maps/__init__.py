"""Charts of queries against keys."""
