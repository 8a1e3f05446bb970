"""Deprecated name of `attnlab.attention.scores`."""

from attnlab.attention.scores import *
