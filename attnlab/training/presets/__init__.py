"""Presets: named experiments, with what each of them shows."""

from types import MappingProxyType

from attnlab.training.presets.beliefs import BELIEFS
from attnlab.training.presets.blog_post import FIRST_PRESET, WEATHER, switches_of
from attnlab.training.presets.in_context import IN_CONTEXT
from attnlab.training.presets.preset import Preset
from attnlab.training.presets.sequences import GROKKING, TASKS

PRESETS = MappingProxyType({**WEATHER, **TASKS, **BELIEFS, **IN_CONTEXT, **GROKKING})

__all__ = ["FIRST_PRESET", "PRESETS", "Preset", "switches_of"]
