"""Deprecated name of `attnlab.configuration.number_text`."""

from attnlab.configuration.number_text import *
