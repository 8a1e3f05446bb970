"""Deprecated name of `attnlab.lessons.learned_kernel`."""

from attnlab.lessons.learned_kernel import *
