"""A card: one result with its settings, seeds, numbers and versions, as JSON and back."""

import dataclasses
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from attnlab.comparisons.grid import MOST_SEEDS
from attnlab.configuration.options import AttnlabError, OptionError, check_visible, quoted
from attnlab.configuration.records import UnregisteredError
from attnlab.inspection import measure_of
from attnlab.known_results import KNOWN_RESULTS, NUMBERS
from attnlab.optimum import Best
from attnlab.runs.history import MOST_TESTS, Versions, versions_of
from attnlab.runs.links import from_query, left_out_of_link
from attnlab.training.experiment import Experiment, from_json_record, to_json

VERSION = 1
MOST_BYTES = 2_000_000
RUN, COMPARISON, KNOWN = "run", "comparison", "known result"
_FORMAT = "attnlab card"
_MOST_SETTINGS, _MOST_CHARACTERS, _MOST_LINK = 500, 2_000, 20_000
_REMEDY = "Choose a card that attnlab wrote."


class CardError(AttnlabError, ValueError):
    """A text that cannot be read as a card; the message states the problem and the remedy."""

    def __init__(self, problem: str, remedy: str = _REMEDY):
        super().__init__(f"{problem} {remedy}")


@dataclasses.dataclass(frozen=True)
class CardMeasure:
    """A number of a setting.

    Attributes:
        name: The name of the measure.
        value: The mean over the seeds that have a result.
        stderr: Its standard error: over the seeds or, with one seed, over the test sequences. None
            if it is not known.
        low: The lower end of its 95 % interval, or None.
        high: The upper end, or None.
        by_seed: The number of every seed; None for a run without a result.
    """

    name: str
    value: float
    stderr: float | None
    low: float | None
    high: float | None
    by_seed: tuple[float | None, ...]

    @property
    def n(self) -> int:
        """The number of seeds that have a result."""
        return sum(each is not None for each in self.by_seed)


@dataclasses.dataclass(frozen=True)
class CardSetting:
    """Settings, the seeds that they were run with, and the numbers found.

    Attributes:
        label: The name of the setting among the others, or "".
        experiment: The settings, with the first seed.
        seeds: The seeds.
        floor: The least possible loss and the highest possible accuracy, or those of the best
            reference of a process without a law; None for a known result.
        measures: The numbers.
        curve: Pairs of step and test loss; only a run has them.
    """

    label: str
    experiment: Experiment
    seeds: tuple[int, ...]
    floor: Best | None
    measures: tuple[CardMeasure, ...]
    curve: tuple[tuple[int, float], ...] = ()

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiment with every seed."""
        return tuple(dataclasses.replace(self.experiment, seed=seed) for seed in self.seeds)


@dataclasses.dataclass(frozen=True)
class ResultCard:
    """A result and all that is needed to train it again.

    Attributes:
        kind: "run", "comparison" or "known result".
        name: The name of the known result, or "".
        sentence: The result in words.
        settings: The settings with their numbers.
        versions: The software that made the runs; a part is empty if it is not known.
        machine: The kind of machine that made them, or "" if it is not known.
        figure: The measure that a comparison is about, or "".
        link: An address that opens the settings, or "".
        places: The decimal places of the numbers of each seed; None if they have all digits.
    """

    kind: str
    name: str
    sentence: str
    settings: tuple[CardSetting, ...]
    versions: Versions
    machine: str
    figure: str = ""
    link: str = ""
    places: int | None = None

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """The experiments of all runs."""
        return tuple(each for setting in self.settings for each in setting.experiments)


def card_to_json(card: ResultCard) -> str:
    """Return a card as the text of a JSON file, which `card_from_json` reads."""
    record = {"format": _FORMAT, "version": VERSION} | dataclasses.asdict(card)
    record["versions"] = card.versions._asdict()
    for setting, found in zip(card.settings, record["settings"], strict=True):
        found["experiment"] = json.loads(to_json(setting.experiment))
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def card_from_json(text: str) -> ResultCard:
    """Return the card in a text.

    A changed number is not found here but by `check_card`, which trains the runs again.

    Raises:
        CardError: If the text is no card, is cut off, has another version, settings or measures
            that this attnlab does not have, or parts that contradict each other.
    """
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise CardError(f"This file has more than {MOST_BYTES // 1_000_000} MB, unlike any card.")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        is_card = f'"{_FORMAT}"' in text[:200]
        problem = "This card is damaged or cut off" if is_card else "This is not a card of attnlab"
        raise CardError(f"{problem}: it is not JSON.") from None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise CardError("This is not a card of attnlab.")
    if (version := record.get("version")) != VERSION or isinstance(version, bool):
        problem = f"This card has the version {quoted(version)}, not {VERSION}."
        raise CardError(problem, "Use the attnlab that wrote it, or make the card again.")
    with _errors_described():
        return _checked(_read(record))


@contextmanager
def _errors_described() -> Iterator[None]:
    try:
        yield
    except CardError:
        raise
    except UnregisteredError as error:
        problem = f"This card needs the {error.name} {quoted(error.value)}"
        remedy = "Name the Python file that registers it with `--module FILE`."
        raise CardError(f"{problem}, which is not registered here.", remedy) from None
    except OptionError as error:
        raise CardError(f"The settings in this card are not valid. {error}", "") from None
    # These messages are for programmers, and may quote the file at length.
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise CardError("The parts of this card contradict each other.") from None


def _read(record: dict[str, Any]) -> ResultCard:
    parts = {name: value for name, value in record.items() if name not in ("format", "version")}
    texts = ("kind", "name", "sentence", "machine", "figure", "link")
    _require(all(isinstance(parts[name], str) for name in texts))
    settings = tuple(_setting(each) for each in parts.pop("settings"))
    versions = versions_of([parts["versions"].pop(name) for name in Versions._fields])
    return ResultCard(**parts | {"settings": settings, "versions": versions})


def _setting(record: dict[str, Any]) -> CardSetting:
    parts = dict(record)
    _require(isinstance(parts["label"], str))
    return CardSetting(
        experiment=from_json_record(parts.pop("experiment")),
        seeds=tuple(map(_whole, parts.pop("seeds"))),
        floor=None if (floor := parts.pop("floor")) is None else Best(**floor),
        measures=tuple(
            CardMeasure(**each | {"by_seed": tuple(each["by_seed"])})
            for each in parts.pop("measures")
        ),
        curve=tuple((_whole(step), _finite(loss)) for step, loss in parts.pop("curve")),
        **parts,
    )


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise ValueError
    return value


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return value


def _checked(card: ResultCard) -> ResultCard:
    """Return the card, or raise an error if its parts contradict each other."""
    texts = {"sentence": card.sentence, "machine": card.machine, "link": card.link}
    texts |= {"label": " ".join(setting.label for setting in card.settings)}
    for name, text in texts.items():
        check_visible(name, text)
        _require(len(text) <= (_MOST_LINK if name in ("label", "link") else _MOST_CHARACTERS))
    _require(urlsplit(card.link).scheme in ("http", "https") if card.link else True)
    _require(card.kind in (RUN, COMPARISON, KNOWN) and 0 < len(card.settings) <= _MOST_SETTINGS)
    _require(card.places is None or _whole(card.places) < 20)
    for setting in card.settings:
        _check_setting(setting)
    _require(len({setting.label for setting in card.settings}) == len(card.settings))
    if card.kind == RUN:
        (setting,) = card.settings
        steps = setting.experiment.training.steps
        _require(len(setting.seeds) == 1 and bool(setting.curve) and setting.curve[-1][0] == steps)
        if card.link and not left_out_of_link(setting.experiment):
            query = dict(parse_qsl(urlsplit(card.link).query))
            _require(from_query(query).experiment == setting.experiment)
    elif card.kind == COMPARISON:
        names = [{measure.name for measure in setting.measures} for setting in card.settings]
        _require(all(card.figure in each for each in names))
    elif card.name not in KNOWN_RESULTS:
        problem = f"This card is about the result {quoted(card.name)}, which is not known here."
        raise CardError(problem, "See `attnlab reproduce --list`.")
    else:
        first, *others = (setting.seeds for setting in card.settings)
        known = KNOWN_RESULTS[card.name].with_seeds(len(first), first[0])
        _require(first == tuple(known.seeds) and all(seeds == first for seeds in others))
        if known.study.runs != card.runs:
            problem = f"The settings in this card are not those of the result {card.name} here."
            raise CardError(problem, "Use the attnlab that wrote it, or make the card again.")
    return card


def _check_setting(setting: CardSetting) -> None:
    seeds, floor = setting.seeds, setting.floor
    _require(0 < len(seeds) <= MOST_SEEDS and len({*seeds}) == len(seeds))
    _require(setting.experiment.seed == seeds[0])
    for number in () if floor is None else dataclasses.astuple(floor)[:4]:
        _finite(number)
    _require(len(setting.measures) > 0)
    steps = [step for step, _ in setting.curve]
    _require(steps == sorted({*steps}) and len(steps) <= MOST_TESTS)
    for measure in setting.measures:
        if not _is_measure(measure.name):
            problem = f"This card has the measure {quoted(measure.name)}, which is not known here."
            raise CardError(problem, "See `attnlab measure --list`, or name a `--module FILE`.")
        known: Any = (measure.stderr, measure.low, measure.high)
        _require(len(measure.by_seed) == len(seeds) and _finite(measure.value) is not None)
        for number in (*known, *measure.by_seed):
            _require(number is None or _finite(number) is not None)
        _require(len({number is None for number in known}) == 1)
        _require(None in known or (known[0] >= 0 and known[1] <= known[2]))


def _is_measure(name: Any) -> bool:
    return isinstance(name, str) and (name in NUMBERS or measure_of(name) is not None)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
