"""Deprecated name of `attnlab.lessons.sweep`."""

from attnlab.lessons.sweep import *
