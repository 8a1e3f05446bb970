"""Show the examples of docstrings as code in the documentation: an extension of Griffe."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).+)*", re.MULTILINE)


class DocstringExamples(griffe.Extension):
    """Put a code fence around each example, which would otherwise be read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = _EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", text)
