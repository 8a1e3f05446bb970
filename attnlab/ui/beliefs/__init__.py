"""The tab “What it believes”: exact beliefs beside those that probes find in a model."""
