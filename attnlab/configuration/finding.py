"""What stands in the way of an experiment, by the option that it is about."""

from typing import NamedTuple


class Finding(NamedTuple):
    """Plain words about the value of one option, by its name."""

    option: str
    text: str
