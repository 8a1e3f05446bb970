"""The versions of the programs that compute a run: other ones may give other numbers."""

from typing import Any, NamedTuple

import jax
import jaxlib

from attnlab.configuration.options import quoted

# The package's own version, which pyproject.toml reads here. Raise it whenever the same experiment
# and seed give other numbers than before.
ATTNLAB_VERSION = "0.1.0"

_MOST_CHARACTERS = 50


class Versions(NamedTuple):
    """What made a run. A part is empty where it was not recorded.

    `platform` is that of JAX's arrays: "cpu", "gpu" or "tpu".
    """

    attnlab: str = ""
    jax: str = ""
    jaxlib: str = ""
    platform: str = ""

    def agree_with(self, others: "Versions") -> bool:
        """Return whether both give the same numbers, as far as is known.

        Libraries did not always record `jaxlib` and `platform`; where they lack, they are not
        compared.
        """
        rest = zip(self[2:], others[2:], strict=True)
        return self[:2] == others[:2] and all(own in ("", other) for own, other in rest)


def current_versions() -> Versions:
    """Return the versions of this process."""
    return Versions(
        ATTNLAB_VERSION, jax.__version__, jaxlib.version.__version__, jax.default_backend()
    )


def versions_of(parts: Any) -> Versions:
    """Return the versions in untrusted values. Refused, with a `ValueError`: no short texts."""
    if not isinstance(parts, list | tuple) or len(parts) != len(Versions._fields):
        raise ValueError(f"Its versions are {quoted(parts)}, which are not four texts.")
    for part in parts:
        if not isinstance(part, str) or len(part) > _MOST_CHARACTERS or not _is_plain(part):
            problem = f"not at most {_MOST_CHARACTERS} letters of ASCII"
            raise ValueError(f"It has the version {quoted(part)}, which is {problem}.")
    return Versions._make(parts)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
