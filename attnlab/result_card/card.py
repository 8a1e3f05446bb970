"""A card: one result with its settings, seeds, numbers and versions, as JSON and back."""

import dataclasses
import json
import math
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from attnlab.comparisons.grid import MOST_SEEDS
from attnlab.configuration.options import AttnlabError, OptionError, check_visible, quoted
from attnlab.configuration.records import UnregisteredError
from attnlab.inspection import measure_of
from attnlab.known_results import KNOWN_RESULTS, NUMBERS
from attnlab.optimum import Best
from attnlab.runs.history import Versions, versions_of
from attnlab.runs.links import from_query, left_out_of_link
from attnlab.training.experiment import Experiment, from_json_record, to_json

VERSION, MOST_BYTES = 1, 2_000_000
RUN, COMPARISON, KNOWN = "run", "comparison", "known result"
_FORMAT = "attnlab card"
_TEXTS = ("kind", "sentence", "machine", "name", "figure", "link")
# A mean differs from that of its seeds by rounding only.
_ROUNDED = 1e-6
_OF_ANOTHER = "Use the attnlab that wrote it, or make the card again."


class CardError(AttnlabError, ValueError):
    """A text that cannot be read as a card; the message states the problem and the remedy."""

    def __init__(self, problem: str, remedy: str = "Choose a card that attnlab wrote."):
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
        return len(self.by_seed) - self.by_seed.count(None)


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

    @property
    def by_name(self) -> dict[str, CardMeasure]:
        """The measures by name."""
        return {measure.name: measure for measure in self.measures}


@dataclasses.dataclass(frozen=True)
class ResultCard:
    """A result and all that is needed to train it again.

    Attributes:
        kind: "run", "comparison" or "known result".
        sentence: The result in words.
        settings: The settings with their numbers.
        versions: The software that made the runs; a part is empty if it is not known.
        machine: The kind of machine that made them, or "" if it is not known.
        name: The name of the known result, or "".
        figure: The measure that a comparison is about, or "".
        link: An address that opens the settings, or "".
    """

    kind: str
    sentence: str
    settings: tuple[CardSetting, ...]
    versions: Versions
    machine: str
    name: str = ""
    figure: str = ""
    link: str = ""

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

    A number that contradicts those of its seeds is found here. Whether these are right is found by
    `check_card`, which trains the runs again.

    Raises:
        CardError: If the text is no card, is cut off, has another version, settings or measures
            that this attnlab does not have, or parts that contradict each other.
    """
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise CardError(f"This file has more than {MOST_BYTES // 1_000_000} MB, unlike any card.")
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError):
        is_card = f'"{_FORMAT}"' in text[:200]
        problem = "This card is damaged or cut off" if is_card else "This is not a card of attnlab"
        raise CardError(f"{problem}: it is not JSON.") from None
    if not isinstance(record, dict) or record.pop("format", None) != _FORMAT:
        raise CardError("This is not a card of attnlab.")
    if (version := record.pop("version", None)) != VERSION or isinstance(version, bool):
        problem = f"This card has the version {quoted(version)}, not {VERSION}."
        raise CardError(problem, _OF_ANOTHER)
    try:
        _require(all(isinstance(record[name], str) for name in _TEXTS))
        record["settings"] = tuple(map(_setting, record["settings"]))
        versions = [record["versions"].pop(name) for name in Versions._fields]
        record["versions"] = versions_of(versions)
        card = ResultCard(**record)
        _check(card)
        return card
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


def _setting(record: dict[str, Any]) -> CardSetting:
    floor, measures = record["floor"], record["measures"]
    _require(isinstance(record["label"], str))
    parts = {
        "experiment": from_json_record(record["experiment"]),
        "seeds": tuple(map(_whole, record["seeds"])),
        "floor": None if floor is None else Best(**floor),
        "measures": tuple(CardMeasure(**m | {"by_seed": tuple(m["by_seed"])}) for m in measures),
        "curve": tuple((_whole(step), _finite(loss)) for step, loss in record["curve"]),
    }
    return CardSetting(**record | parts)


def _whole(value: Any) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31)
    return value


def _finite(value: Any) -> float:
    _require(not isinstance(value, bool) and math.isfinite(value))
    return value


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _check(card: ResultCard) -> None:
    """Raise an error if the parts of a card contradict each other."""
    for name in _TEXTS:
        check_visible(name, getattr(card, name))
    _require(not card.link or urlsplit(card.link).scheme in ("http", "https"))
    _require(card.kind in (RUN, COMPARISON, KNOWN) and bool(card.settings))
    for setting in card.settings:
        check_visible("label", setting.label)
        _require((setting.floor is None) == (card.kind == KNOWN))
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
        _require(all(card.figure in setting.by_name for setting in card.settings))
    elif card.name not in KNOWN_RESULTS:
        problem = f"This card is about the result {quoted(card.name)}, which is not known here."
        raise CardError(problem, "See `attnlab reproduce --list`.")
    else:
        first = card.settings[0].seeds
        known = KNOWN_RESULTS[card.name].with_seeds(len(first), first[0])
        _require(all(setting.seeds == tuple(known.seeds) for setting in card.settings))
        if known.study.runs != card.runs:
            problem = f"The settings in this card are not those of the result {card.name} here."
            raise CardError(problem, _OF_ANOTHER)


def _check_setting(setting: CardSetting) -> None:
    seeds, steps = setting.seeds, [step for step, _ in setting.curve]
    _require(0 < len(seeds) <= MOST_SEEDS and len({*seeds}) == len(seeds))
    _require(setting.experiment.seed == seeds[0] and steps == sorted({*steps}))
    _require(len(setting.measures) > 0)
    for number in () if setting.floor is None else dataclasses.astuple(setting.floor)[:4]:
        _finite(number)
    for measure in setting.measures:
        if measure.name not in NUMBERS and measure_of(measure.name) is None:
            problem = f"This card has the measure {quoted(measure.name)}, which is not known here."
            raise CardError(problem, "See `attnlab measure --list`, or name a `--module FILE`.")
        known: Any = (measure.stderr, measure.low, measure.high)
        _finite(measure.value)
        for number in (*known, *measure.by_seed):
            _require(number is None or _finite(number) is not None)
        _require(len(measure.by_seed) == len(seeds) and known.count(None) in (0, 3))
        _require(None in known or (known[0] >= 0 and known[1] <= measure.value <= known[2]))
        found = [number for number in measure.by_seed if number is not None]
        _require(len(found) > 0)
        mean = math.fsum(found) / len(found)
        _require(math.isclose(measure.value, mean, rel_tol=_ROUNDED, abs_tol=_ROUNDED))
