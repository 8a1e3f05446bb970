"""What the hashes of settings depend on besides the settings."""

import hashlib
import json

from attnlab.configuration.options import default_of, options_of
from attnlab.training.experiment import Experiment


def settings_form() -> str:
    """A hash of all options that an experiment can have here, with their defaults.

    Classes that a script has registered do not count: they come and go.
    """
    forms: dict[str, list[tuple[str, str]]] = {}

    def visit(kind: type) -> None:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in forms or not name.startswith("attnlab."):
            return
        specs = options_of(kind)
        forms[name] = [(option, repr(default_of(kind, option))) for option in specs]
        for spec in specs.values():
            for part in (spec.registry or {}).values():
                visit(part)

    visit(Experiment)
    return hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()
