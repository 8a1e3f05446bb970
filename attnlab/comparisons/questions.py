"""Named comparisons: each answers one question."""

import dataclasses
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnlab.comparisons.grid import Grid, experiment_of


@dataclasses.dataclass(frozen=True)
class ComparisonPreset:
    """A comparison, its question as a title, and one line on what is compared."""

    title: str
    description: str
    grid: Grid


def _read() -> dict[str, ComparisonPreset]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {name: _comparison(**record) for name, record in tomllib.loads(text).items()}


def _comparison(
    title: str,
    description: str,
    seeds: int,
    vary: dict[str, list[str]],
    base: dict[str, Any] | None = None,
    metrics: Iterable[str] = (),
) -> ComparisonPreset:
    options = tuple((name, tuple(values)) for name, values in vary.items())
    experiment = None if base is None else experiment_of(base)
    grid = Grid(options, seeds, base=experiment, metrics=tuple(metrics))
    return ComparisonPreset(title, description, grid)


FIRST_COMPARISON = "attention-or-linear"
COMPARISONS = MappingProxyType(_read())
