"""Families that carry a state from token to token."""
