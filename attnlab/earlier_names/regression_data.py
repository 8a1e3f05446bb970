"""Deprecated name of `attnlab.lessons.regression_data`."""

from attnlab.lessons.regression_data import *
