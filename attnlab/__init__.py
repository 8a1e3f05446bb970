"""attnlab: a laboratory bench for attention. `attnlab app` starts the app."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Raised for a release, and whenever the same experiment and seed give other numbers than before.
__version__ = "0.2.0"

# The packages whose names are documented, besides those of this one.
_FOR_SCRIPTS = ("charts", "film", "generators", "inspection", "models", "optimum", "testing")

if TYPE_CHECKING:
    from attnlab.public import *
else:

    def __getattr__(name: str) -> Any:
        """Import the public names with the first of them: they need JAX, which takes a second."""
        if name == "__all__":
            return [*_public_names()]
        if name in _FOR_SCRIPTS:
            return import_module(f"attnlab.{name}")
        if not name.startswith("__"):
            globals().update(_public_names())
        if name not in globals():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted((*_public_names(), *_FOR_SCRIPTS, "__version__"))

    def _public_names() -> dict[str, Any]:
        # Not by `from`, which would ask this module for the name first.
        public = import_module("attnlab.public")
        return {name: value for name, value in vars(public).items() if name[0] != "_"}
