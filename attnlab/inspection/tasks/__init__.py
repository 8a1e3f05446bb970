"""A model of a task looked into: what it writes, and what that comes from."""
