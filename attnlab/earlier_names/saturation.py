"""Deprecated name of `attnlab.lessons.saturation`."""

from attnlab.lessons.saturation import *
