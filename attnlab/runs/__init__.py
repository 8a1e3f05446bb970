"""A run as it is kept: its history, its file, its link, its script, and others beside it."""
