"""Deprecated name of `attnlab.generators.vocabulary`."""

from attnlab.generators.vocabulary import *
