"""Deprecated name of `attnlab.lessons.stages`."""

from attnlab.lessons.stages import *
