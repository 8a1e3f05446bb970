"""Docstrings as the documentation shows them: an extension of Griffe."""

import dataclasses
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe

# The documentation is built where attnlab need not be installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attnlab.configuration.options import Options, default_of, options_of

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).+)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Put a code fence around each example, and show options as `help` does.

    An example would otherwise be read as Markdown, and an option shown by its source text.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _fenced(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for shown in _classes(pkg):
            kind = getattr(importlib.import_module(shown.parent.path), shown.name, None)
            if dataclasses.is_dataclass(kind) and issubclass(kind, Options):
                _show_options(shown, kind)


def _fenced(text: str) -> str:
    return _EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", text)


def _classes(module: griffe.Module) -> Iterator[griffe.Class]:
    for member in module.members.values():
        # The app has no options, and to import it takes Streamlit.
        if member.is_alias or member.path == "attnlab.ui":
            continue
        if isinstance(member, griffe.Module):
            yield from _classes(member)
        elif isinstance(member, griffe.Class):
            yield member


def _show_options(shown: griffe.Class, kind: type[Options]) -> None:
    if shown.docstring is not None and kind.__doc__:
        shown.docstring.value = _fenced(kind.__doc__)
    for name, spec in options_of(kind).items():
        if name in shown.members:
            # The signature is made of these values.
            default = default_of(kind, name)
            text = repr(default) if spec.registry is None else f"{type(default).__name__}()"
            shown.members[name].value = text
