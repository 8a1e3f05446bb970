"""Which runs to compare: settings × seeds with their measures, grids, links, and durations."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from attnlab.comparisons.many import shared_program
from attnlab.configuration.number_text import read_value, show_duration
from attnlab.configuration.options import (
    OptionError,
    choose_one_of,
    default_of,
    options_of,
    present,
    quoted,
)
from attnlab.inspection import MEASURES, measure_of
from attnlab.runs.option_texts import parts_with, read_what_applies, usual_experiment
from attnlab.runs.run_summary import FIGURES
from attnlab.training.experiment import Experiment
from attnlab.training.limits import bytes_of, work

PRESET = "preset"
MOST_SEEDS = 100
_MOST_SETTINGS = 100_000


@dataclasses.dataclass(frozen=True)
class Setting:
    """One combination: the options as given, and the experiment without its seed.

    If the combination is rejected, `experiment` is None and `problem` says why.
    """

    options: tuple[tuple[str, str], ...]
    experiment: Experiment | None
    problem: str = ""

    @property
    def label(self) -> str:
        """The texts of the options, separated by commas."""
        return ", ".join(text for _, text in self.options)


@dataclasses.dataclass(frozen=True)
class Study:
    """Settings that are all run with the same seeds, and what is measured of every run.

    Attributes:
        settings: The settings.
        seeds: Number of seeds of each setting.
        first_seed: The first of them; the others follow.
        metrics: Names of measures that are taken at the last step, as `measure_of` takes them.
        checkpoints: Steps at which they are taken too.
        name: Its name, or "".
    """

    settings: tuple[Setting, ...]
    seeds: int = 5
    first_seed: int = 0
    metrics: tuple[str, ...] = ()
    checkpoints: tuple[int, ...] = ()
    name: str = ""

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """Every setting that is not rejected, with every seed."""
        return tuple(
            dataclasses.replace(setting.experiment, seed=self.first_seed + number)
            for setting in self.settings
            if setting.experiment is not None
            for number in range(self.seeds)
        )

    @property
    def recording(self) -> dict[str, Any]:
        """The arguments of `run_all` by which the metrics are measured."""
        # Every run has these without being measured again.
        names = [name for name in self.metrics if name not in FIGURES]
        found = {name: present(measure_of(name)).of for name in names}
        return {"metrics": found, "checkpoints": self.checkpoints} if found else {}

    def setting_of(self, experiment: Experiment) -> Setting | None:
        """Return the setting that an experiment has, with any seed, or None."""
        return self._by_experiment.get(dataclasses.replace(experiment, seed=0))

    def has(self, experiment: Experiment) -> bool:
        """Return whether an experiment is one of the runs."""
        of_seeds = 0 <= experiment.seed - self.first_seed < self.seeds
        return of_seeds and self.setting_of(experiment) is not None

    @functools.cached_property
    def _by_experiment(self) -> dict[Experiment, Setting]:
        return {
            dataclasses.replace(setting.experiment, seed=0): setting
            for setting in self.settings
            if setting.experiment is not None
        }


@dataclasses.dataclass(frozen=True)
class Grid:
    """Options by name with the texts of their values; all combinations are run.

    `preset` counts as an option; other options are changes to it. An option that is not given has
    the value of the preset, otherwise of `base`, otherwise of the model. Every setting is
    run with the seeds `first_seed`, `first_seed` + 1, … `metrics` are names of measures, as
    `measure_of` takes them, which are measured at the last step. Raises `OptionError` for an option
    that no part of an experiment has, for none or too many values or seeds, and for unknown
    metrics.

    >>> grid = Grid((("model", ("attention", "linear")), ("d_attn", ("4", "8"))), seeds=3)
    >>> [dict(setting.options) for setting in settings_of(grid)]
    [{'model': 'attention', 'd_attn': '4'}, {'model': 'attention', 'd_attn': '8'}, \
{'model': 'linear'}]
    """

    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    seeds: int = 5
    first_seed: int = 0
    base: Experiment | None = None
    metrics: tuple[str, ...] = ()

    def __post_init__(self):
        for name in self.metrics:
            if measure_of(name) is None:
                raise OptionError("metrics", name, "not a measure", choose_one_of(MEASURES, name))
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
    """Return the values in a text: separated by commas or, if values contain commas, by |.

    Among equal values the first is kept.

    >>> alternatives("learning_rate", "0.01, 0.010, 0.02, 2e-2")
    ('0.01', '0.02')
    >>> alternatives("days", "1,4,8 | 1,5,9")
    ('1,4,8', '1,5,9')
    """
    found: dict[Hashable, str] = {}
    is_long = any(options_of(kind)[name].long_text for kind in parts_with(name))
    for part in [text] if is_long else text.split(_separator(name)):
        if part.strip():
            found.setdefault(_values(name, part.strip()), part.strip())
    return tuple(found.values())


def _values(name: str, text: str) -> tuple[Hashable, ...]:
    """Return the value of a text in each part of an experiment that has the option."""
    values = []
    for kind in parts_with(name):
        try:
            values.append(read_value(name, options_of(kind)[name], text, default_of(kind, name)))
        except OptionError:
            values.append(text)
    return tuple(values) or (text,)


def as_alternatives(name: str, values: Iterable[str]) -> str:
    """Join values into a text that `alternatives` reads."""
    return _separator(name).join(values)


def _separator(name: str) -> str:
    is_list = any(isinstance(default_of(kind, name), tuple) for kind in parts_with(name))
    return "|" if is_list else ","


def settings_of(grid: Grid) -> tuple[Setting, ...]:
    """Return every combination once; options that a combination lacks are dropped from it.

    Combinations that describe the same experiment become one setting, with the texts of the first.

    Raises:
        OptionError: If an option applies to no combination.
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
            problem = "none of the chosen parts has this option"
            raise OptionError(name, given[name], problem, "Leave it out, or make another choice")
    return tuple(found.values())


def _setting(given: Mapping[str, str], base: Experiment | None) -> tuple[Setting, frozenset[str]]:
    try:
        experiment, used = _experiment(given, base)
    except OptionError as error:
        # It is unknown which options would apply, so that none counts as unused.
        return Setting(tuple(given.items()), None, str(error)), frozenset(given)
    options = tuple(pair for pair in given.items() if pair[0] in used)
    return Setting(options, experiment), used


def _experiment(
    given: Mapping[str, str], base: Experiment | None = None
) -> tuple[Experiment, frozenset[str]]:
    """Return the experiment of texts of options, of which `preset` is one, and those it has."""
    changes = {name: text for name, text in given.items() if name != PRESET}
    if base is None or PRESET in given:
        base = usual_experiment(given.get(PRESET), given.get("model"), given.get("generator"))
    experiment, used = read_what_applies(base, changes)
    return experiment, used | ({PRESET} & given.keys())


def experiment_of(given: Mapping[str, Any]) -> Experiment:
    """Return the experiment with the given options, such as those of a TOML file.

    Raises:
        OptionError: For an option that the experiment does not have.

    >>> experiment_of({"preset": "recall-pairs", "model": "gru", "hidden_size": 50}).model
    GRUOptions(hidden_size=50)
    """
    texts = {name: str(value) for name, value in given.items()}
    experiment, used = _experiment(texts)
    for name in texts.keys() - used:
        raise OptionError(name, texts[name], "the experiment has no such option", "Leave it out")
    return experiment


def study_of(grid: Grid) -> Study:
    """Return the settings of a grid with its seeds and metrics."""
    return Study(settings_of(grid), grid.seeds, grid.first_seed, grid.metrics)


_VARY, _SEEDS, _METRICS = "vary_", "seeds", "metrics"
_MOST_OPTIONS, _MOST_CHARACTERS = 12, 2_000


class Varied(NamedTuple):
    """A comparison read from a link: options with the texts of their values, seeds, metrics."""

    options: tuple[tuple[str, tuple[str, ...]], ...]
    seeds: int
    metrics: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def is_parameter(key: str) -> bool:
    """Return whether a parameter of a link is part of a comparison."""
    return key in (_SEEDS, _METRICS) or key.startswith(_VARY)


def to_parameters(
    options: Iterable[tuple[str, Iterable[str]]], seeds: int, metrics: Iterable[str] = ()
) -> dict[str, str]:
    """Return the link parameters of a comparison: seeds, the options with values, and metrics.

    The seeds are always included, so that a link to a comparison without options is still one.

    >>> to_parameters((("model", ("linear", "gru")), ("days", ("1,4,8", "1,5,9"))), seeds=3)
    {'seeds': '3', 'vary_model': 'linear,gru', 'vary_days': '1,4,8|1,5,9'}
    """
    texts = {f"{_VARY}{name}": as_alternatives(name, values) for name, values in options}
    texts[_METRICS] = ",".join(metrics)
    return {_SEEDS: str(seeds), **{key: text for key, text in texts.items() if text}}


def from_parameters(query: Mapping[str, str]) -> Varied:
    """Return the comparison in the parameters of a link; other parameters are ignored.

    Raises no error: a parameter that is not understood is left out, and adds a line to the notices.

    >>> from_parameters({"vary_length": "5,10", "vary_colour": "red", "seeds": "many"})
    Varied(options=(('length', ('5', '10')),), seeds=5, metrics=(), notices=("`colour` is 'red': \
not an option. See `train --help`.", "`seeds` is 'many': not a whole number from 1 to 100. 5 is \
kept."))
    """
    options, notices = [], []
    named = [
        (key.removeprefix(_VARY), text) for key, text in query.items() if key.startswith(_VARY)
    ]
    for name, text in named[:_MOST_OPTIONS]:
        values = alternatives(name, text[:_MOST_CHARACTERS])
        try:
            Grid(((name, values),))
            options.append((name, values))
        except OptionError as error:
            notices.append(str(error))
    if len(named) > _MOST_OPTIONS:
        notices.append(f"At most {_MOST_OPTIONS} options are varied; the link has {len(named)}.")
    usual = str(default_of(Grid, _SEEDS))
    seeds = query.get(_SEEDS, usual)
    if not (seeds.isascii() and seeds.isdecimal() and 1 <= int(seeds[:9]) <= MOST_SEEDS):
        problem = f"not a whole number from 1 to {MOST_SEEDS}. {usual} is kept."
        notices.append(f"`seeds` is {quoted(seeds)}: {problem}")
        seeds = usual
    metrics = metrics_in(query.get(_METRICS, "")[:_MOST_CHARACTERS])
    try:
        Grid(metrics=metrics)
    except OptionError as error:
        notices.append(str(error))
        metrics = ()
    return Varied(tuple(options), int(seeds), metrics, tuple(notices))


def metrics_in(text: str) -> tuple[str, ...]:
    """Return the names in a text, which are separated by commas."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


# Measured on two cores of 2026, with an empty compilation cache. Other machines differ by factors,
# and so do models: the cost of a multiplication depends on the sizes of its arrays.
_SECONDS_A_PROGRAM = 3.0
_SECONDS_A_RUN = 0.2
_MULTIPLICATIONS_A_SECOND = 2e9
# Seconds and bytes that need no warning.
_SOON, _LITTLE = 20.0, 5e8


def seconds_of(experiments: Iterable[Experiment]) -> float:
    """Estimate the seconds that the runs take one after another, including compilation.

    3 s per program, 0.2 s per run, and the multiplications of `work` at 2·10⁹ per second. The
    estimate is correct to a factor of about 3; on one machine all runs are off by similar factors.
    """
    programs, seconds = set(), 0.0
    for experiment in experiments:
        programs.add(shared_program(experiment))
        seconds += _SECONDS_A_RUN + _work_of(shared_program(experiment)) / _MULTIPLICATIONS_A_SECOND
    return seconds + _SECONDS_A_PROGRAM * len(programs)


def show_prospect(experiment: Experiment) -> str:
    """Describe the time and memory that training takes, each only if it is not small."""
    seconds, size = seconds_of([experiment]), bytes_of(experiment)
    if size >= _LITTLE:
        memory = f"{float(f'{size / 1e6:.1g}'):,.0f} MB"
        return f"Training takes about {show_duration(seconds)} and {memory} of memory."
    return f"Training takes about {show_duration(seconds)}." if seconds >= _SOON else ""


# Tracing the size of a model takes a hundredth of a second.
@functools.lru_cache(maxsize=4_096)
def _work_of(program: Experiment) -> float:
    return work(program)
