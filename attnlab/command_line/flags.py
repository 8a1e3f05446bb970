"""Options as flags of the command line."""

import argparse
from collections.abc import Collection, Iterable
from types import MappingProxyType

from attnlab.configuration.options import options_of

# Other words for an option: a task is a process like any other.
_ALSO = MappingProxyType({"generator": ("task",)})


def add_flags(
    parser: argparse.ArgumentParser, kinds: Iterable[type], *, leave_out: Collection[str] = ()
) -> None:
    """A flag for every option of the classes; those of the same name share one."""
    options = {name: spec for kind in kinds for name, spec in options_of(kind).items()}
    # All training options stand as flags of their own.
    options.pop("training", None)
    for name, spec in options.items():
        if name in leave_out:
            continue
        names = list(spec.registry or spec.choices)
        shown = "{" + ",".join(names) + "}" if names else name.upper()
        flags = [f"--{name.replace('_', '-')}", *(f"--{also}" for also in _ALSO.get(name, ()))]
        parser.add_argument(*flags, dest=name, metavar=shown, help=spec.help.replace("%", "%%"))
