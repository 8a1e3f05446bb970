"""Runs and other long work in background threads, and the queue that they stand in."""

from attnlab.live.answers import Answers
from attnlab.live.background import Background
from attnlab.live.live_run import LiveRun
from attnlab.live.programs import Programs
from attnlab.live.queueing import WorkQueue

__all__ = [
    "Answers",
    "Background",
    "LiveRun",
    "Programs",
    "WorkQueue",
]
