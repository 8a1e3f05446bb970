"""Which runs a comparison consists of: every combination of some options, each over seeds."""

import dataclasses
import itertools
import math
from collections.abc import Hashable, Iterable, Mapping

from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.runs.option_texts import parts_with, read_what_applies, usual_experiment
from attnlab.training.experiment import Experiment

PRESET = "preset"
MOST_SEEDS = 100
_MOST_SETTINGS = 100_000


@dataclasses.dataclass(frozen=True)
class Setting:
    """One combination: the options as they were given, and the experiment without its seed.

    Where the combination is refused, `experiment` is None and `problem` says why.
    """

    options: tuple[tuple[str, str], ...]
    experiment: Experiment | None
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Grid:
    """Options by name with the texts of their values, all combinations of which are run.

    `preset` counts as an option: what the others are changes of. An option that is not given has
    the value of the preset or, without one, of `base` or, without that either, of the model family.
    Every setting is run with the seeds `first_seed`, `first_seed` + 1, … Refused, with an
    `OptionError`: an option that no part of an experiment has, none or too many values or seeds.

    >>> grid = Grid((("model", ("attention", "linear")), ("d_attn", ("4", "8"))), seeds=3)
    >>> [dict(setting.options) for setting in settings_of(grid)]
    [{'model': 'attention', 'd_attn': '4'}, {'model': 'attention', 'd_attn': '8'}, \
{'model': 'linear'}]
    """

    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    seeds: int = 5
    first_seed: int = 0
    base: Experiment | None = None

    def __post_init__(self):
        for name, texts in self.options:
            if name in ("seed", "training") or not (name == PRESET or parts_with(name)):
                raise OptionError(name, ",".join(texts), "not an option", "See `train --help`")
            if not texts:
                raise OptionError(name, "", "without a value", "Give one or more")
        if not 1 <= self.seeds <= MOST_SEEDS:
            remedy = f"Choose a whole number from 1 to {MOST_SEEDS}"
            raise OptionError("seeds", self.seeds, "out of bounds", remedy)
        combinations = math.prod(len(texts) for _, texts in self.options)
        if combinations > _MOST_SETTINGS:
            name, texts = max(self.options, key=lambda option: len(option[1]))
            problem = f"{combinations:,} combinations in all, more than {_MOST_SETTINGS:,}"
            raise OptionError(name, ",".join(texts), problem, "Give fewer values")


def alternatives(name: str, text: str) -> tuple[str, ...]:
    """Return the values in a text: between commas or, where values have commas, between |.

    Of values that are equal the first is kept.

    >>> alternatives("learning_rate", "0.01, 0.010, 0.02, 2e-2")
    ('0.01', '0.02')
    >>> alternatives("days", "1,4,8 | 1,5,9")
    ('1,4,8', '1,5,9')
    """
    found: dict[Hashable, str] = {}
    for part in text.split(_separator(name)):
        if part.strip():
            found.setdefault(_values(name, part.strip()), part.strip())
    return tuple(found.values())


def _values(name: str, text: str) -> tuple[Hashable, ...]:
    """What a text means in each part of an experiment that has the option."""
    values = []
    for kind in parts_with(name):
        try:
            values.append(read_value(name, options_of(kind)[name], text, default_of(kind, name)))
        except OptionError:
            values.append(text)
    return tuple(values) or (text,)


def as_alternatives(name: str, values: Iterable[str]) -> str:
    """The text that `alternatives` reads back."""
    return _separator(name).join(values)


def _separator(name: str) -> str:
    is_list = any(isinstance(default_of(kind, name), tuple) for kind in parts_with(name))
    return "|" if is_list else ","


def settings_of(grid: Grid) -> tuple[Setting, ...]:
    """Return every combination once; one whose parts lack an option does without it.

    Combinations that are the same experiment are one setting, with the texts of the first.

    Raises:
        OptionError: for an option that no combination has.
    """
    names = [name for name, _ in grid.options]
    found: dict[Hashable, Setting] = {}
    unused = set(names)
    combinations = itertools.product(*(texts for _, texts in grid.options))
    for texts in combinations:
        given = dict(zip(names, texts, strict=True))
        setting, used = _setting(given, grid.base)
        unused -= used
        experiment = setting.experiment and dataclasses.replace(setting.experiment, seed=0)
        found.setdefault(experiment or setting.options, setting)
    for name in names:
        if name in unused:
            problem = "nothing that was chosen has such an option"
            raise OptionError(name, given[name], problem, "Leave it out, or make another choice")
    return tuple(found.values())


def _setting(given: Mapping[str, str], base: Experiment | None) -> tuple[Setting, frozenset[str]]:
    changes = {name: text for name, text in given.items() if name != PRESET}
    try:
        if base is None or PRESET in given:
            base = usual_experiment(given.get(PRESET), given.get("model"), given.get("generator"))
        experiment, used = read_what_applies(base, changes)
    except OptionError as error:
        # Nobody knows which of the others it has.
        return Setting(tuple(given.items()), None, str(error)), frozenset(given)
    used |= {PRESET} & given.keys()
    options = tuple(pair for pair in given.items() if pair[0] in used)
    return Setting(options, experiment), used


def experiments_of(setting: Setting, grid: Grid) -> tuple[Experiment, ...]:
    """The runs of a setting, one for each seed; none of a setting that is refused."""
    if setting.experiment is None:
        return ()
    seeds = range(grid.first_seed, grid.first_seed + grid.seeds)
    return tuple(dataclasses.replace(setting.experiment, seed=seed) for seed in seeds)
