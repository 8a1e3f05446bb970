"""Runs and other long work in background threads, and the queue that they stand in."""

# For scripts.
from attnlab.live.live_run import LiveRun

__all__ = [
    "LiveRun",
]
