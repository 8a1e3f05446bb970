"""Computations of the lesson pages."""
