"""Deprecated name of `attnlab.configuration.options`."""

from attnlab.configuration.options import *
