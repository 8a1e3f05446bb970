"""A comparison as parameters of a link, and back. Its base stands in the rest of the link."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from attnlab.comparisons.grid import MOST_SEEDS, Grid, alternatives, as_alternatives
from attnlab.configuration.options import OptionError, default_of, quoted

_VARY, _SEEDS = "vary_", "seeds"
_MOST_OPTIONS, _MOST_CHARACTERS = 12, 2_000


class Varied(NamedTuple):
    """Options by name with the texts of their values, the number of seeds, and what was wrong."""

    options: tuple[tuple[str, tuple[str, ...]], ...]
    seeds: int
    notices: tuple[str, ...] = ()


def is_parameter(key: str) -> bool:
    """Whether a parameter of a link speaks of a comparison."""
    return key == _SEEDS or key.startswith(_VARY)


def to_parameters(options: Iterable[tuple[str, Iterable[str]]], seeds: int) -> dict[str, str]:
    """What a link has of a comparison: the number of seeds, and the options that have values.

    It always has the seeds, so that a link to a comparison of nothing is still one.

    >>> to_parameters((("model", ("linear", "gru")), ("days", ("1,4,8", "1,5,9"))), seeds=3)
    {'seeds': '3', 'vary_model': 'linear,gru', 'vary_days': '1,4,8|1,5,9'}
    """
    texts = {f"{_VARY}{name}": as_alternatives(name, values) for name, values in options}
    return {_SEEDS: str(seeds), **{key: text for key, text in texts.items() if text}}


def from_parameters(query: Mapping[str, str]) -> Varied:
    """What the parameters of a link ask for. Others are left alone.

    Nothing raises: each thing that was not understood is left out, and adds a line to the notices.

    >>> from_parameters({"vary_length": "5,10", "vary_colour": "red", "seeds": "many"})
    Varied(options=(('length', ('5', '10')),), seeds=5, notices=("`colour` is 'red': not an \
option. See `train --help`.", "`seeds` is 'many': not a whole number from 1 to 100. 5 is kept."))
    """
    options, notices = [], []
    named = [(key.removeprefix(_VARY), text) for key, text in query.items() if _is_option(key)]
    for name, text in named[:_MOST_OPTIONS]:
        values = alternatives(name, text[:_MOST_CHARACTERS])
        try:
            Grid(((name, values),))
            options.append((name, values))
        except OptionError as error:
            notices.append(str(error))
    if len(named) > _MOST_OPTIONS:
        notices.append(f"At most {_MOST_OPTIONS} options are varied; the link has {len(named)}.")
    seeds = query.get(_SEEDS, str(_usual_seeds()))
    if not (seeds.isascii() and seeds.isdecimal() and 1 <= int(seeds[:9]) <= MOST_SEEDS):
        notices.append(
            f"`seeds` is {quoted(seeds)}: not a whole number from 1 to {MOST_SEEDS}. "
            f"{_usual_seeds()} is kept."
        )
        seeds = str(_usual_seeds())
    return Varied(tuple(options), int(seeds), tuple(notices))


def _is_option(key: str) -> bool:
    return key.startswith(_VARY)


def _usual_seeds() -> int:
    return default_of(Grid, _SEEDS)
