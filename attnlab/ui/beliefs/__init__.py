"""The Beliefs page: exact beliefs beside those that probes find in a model."""
