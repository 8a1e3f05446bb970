"""Presets: named experiments, with what each of them shows."""

import dataclasses
from types import MappingProxyType

from attnlab.training.presets.blog_post import FIRST_PRESET as FIRST_PRESET
from attnlab.training.presets.blog_post import WEATHER
from attnlab.training.presets.blog_post import switches_of as switches_of
from attnlab.training.presets.in_context import IN_CONTEXT
from attnlab.training.presets.preset import Preset as Preset
from attnlab.training.presets.sequences import BELIEFS, GROKKING, TASKS

_ALL = {**WEATHER, **TASKS, **BELIEFS, **IN_CONTEXT, **GROKKING}
# The experiments offered to new visitors have the same names in menus.
_START = {
    FIRST_PRESET: "Watch heads find the days that matter",
    "published-dotmod-attention": "The blog's puzzle: why does attention fail?",
    "cards-encoder-decoder": "Sort a hand of cards",
    "own-text": "Your own text",
}
START_PRESETS = MappingProxyType(
    {
        name: dataclasses.replace(_ALL[name], group="Start here", title=title)
        for name, title in _START.items()
    }
)
# They come first.
PRESETS = MappingProxyType(
    {**START_PRESETS, **{name: p for name, p in _ALL.items() if name not in START_PRESETS}}
)
