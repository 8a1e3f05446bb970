"""Deprecated name of `attnlab.lessons.geometry`."""

from attnlab.lessons.geometry import *
