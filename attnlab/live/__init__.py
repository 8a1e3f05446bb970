"""Runs and other jobs in background threads, and their queue."""

# For scripts.
from attnlab.live.live_run import LiveRun as LiveRun
