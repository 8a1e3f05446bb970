"""Figures as they are where nothing can be enumerated."""

import importlib
from unittest import mock

from attnlab.optimum import baselines_of, dependence, optimum
from attnlab.optimum.baselines import best_linear, counted_baselines

_LEVELS = importlib.import_module("attnlab.optimum.levels")
_SEQUENCES = importlib.import_module("attnlab.optimum.sequences")


def sampled(answer):
    """What a function without arguments answers if one belief or sequence is already too many."""
    _forget()
    try:
        with (
            mock.patch.object(_LEVELS, "MOST_BELIEFS", 1),
            mock.patch.object(_SEQUENCES, "MOST_SEQUENCES", 1),
        ):
            return answer()
    finally:
        _forget()


def _forget():
    for remembering in (optimum, baselines_of, counted_baselines, dependence, best_linear):
        remembering.cache_clear()
