"""Deprecated name of `attnlab.training.experiment`."""

from attnlab.training.experiment import *
