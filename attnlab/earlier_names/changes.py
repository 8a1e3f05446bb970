"""Deprecated name of `attnlab.training.changes`."""

from attnlab.training.changes import *
