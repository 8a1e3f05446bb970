"""Deprecated name of `attnlab.lessons.kernel_regression`."""

from attnlab.lessons.kernel_regression import *
