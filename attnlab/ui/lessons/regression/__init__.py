"""Attention as kernel regression."""
