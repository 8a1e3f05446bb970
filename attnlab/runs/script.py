"""An experiment as a short Python script that repeats it with attnlab alone."""

import dataclasses
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attnlab.configuration.options import default_of
from attnlab.generators import OwnSequences
from attnlab.runs.links import is_long
from attnlab.training.changes import Change, before_changes
from attnlab.training.experiment import Experiment

_WIDTH = 88
_INDENT = "    "
# The file from which a script reads a long text of the user.
OWN_TEXT = "sequences.txt"

_RUN = """\
setup = prepare(experiment)
for progress in train({train}):
    state = progress.state
test = {evaluate}(state.model, setup.{on}, readout=experiment.training.readout{mask})
print("step", f"{{int(state.step):,}}")
print("test accuracy", {show}(test.accuracy, test.accuracy_stderr))
print("test loss (nats)", {show}(test.nll, test.nll_stderr))
"""


def to_script(experiment: Experiment, changes: Sequence[Change] = ()) -> str:
    """Return a script that trains the experiment to its last step and prints its test results.

    The script contains only options that differ from the defaults. Its `experiment` equals the
    given one or, with `changes`, the one before the changes, which the script repeats. It prints
    the step, accuracy and loss with their standard errors, with the digits that the app shows. A
    long text of the user is read from a file beside the script.

    >>> "experiment = Experiment(seed=7)" in to_script(Experiment(seed=7)).splitlines()
    True
    """
    is_exact = experiment.training.data == "law"
    evaluate, show = ("evaluate", "show_measured")
    if is_exact:
        evaluate, show = ("evaluate_law", "show_estimate")
    imports = {
        "attnlab": {"Experiment", evaluate, "prepare", "train"},
        "attnlab.configuration.number_text": {show},
    }
    training = before_changes(experiment.training, changes)
    begun = dataclasses.replace(experiment, training=training)
    made = f"experiment = {_expression(begun, len('experiment = '), '', imports)}\n"
    if changes:
        made += f"changes = {_expression(tuple(changes), len('changes = '), '', imports)}\n"
    lines = [
        f"from {module} import {', '.join(sorted(names))}\n"
        for module, names in sorted(imports.items())
    ]
    mask = ", loss_mask=setup.loss_mask" if experiment.generator.has_loss_mask() else ""
    mask += ", blocks=setup.blocks" * (not experiment.generator.has_law)
    run = _RUN.format(
        train="experiment, setup" + ", changes=changes" * bool(changes),
        evaluate=evaluate,
        on="law" if is_exact else "test",
        mask="" if is_exact else mask,
        show=show,
    )
    return f"{_heading(experiment)}\n{''.join(lines)}\n{made}{run}"


def made_by(value: Any) -> str:
    """Return a Python expression that makes a configuration, as in a script."""
    return _expression(value, 0, "", {})


def _reads_file(value: Any) -> bool:
    """Return whether a script reads the text of own sequences from a file."""
    is_own = isinstance(value, OwnSequences)
    return is_own and is_long(value.text) and value.text != default_of(OwnSequences, "text")


def _heading(experiment: Experiment) -> str:
    what = f'"""`{experiment.model.name}` on `{experiment.generator.name}`, seed {experiment.seed}.'
    try:
        author = f"attnlab {version('attnlab')}"
    # A copy that runs from its own folder need not be installed.
    except PackageNotFoundError:
        author = "attnlab"
    reads = f"Save your sequences beside it as {OWN_TEXT}.\n" * _reads_file(experiment.generator)
    return (
        f"{what}\n\n"
        f"Written by {author}. It runs in any folder with the Python of the environment that\n"
        f"attnlab's README makes, and needs nothing else. Options that are not named have their\n"
        f'defaults.\n{reads}"""\n'
    )


def _expression(value: Any, column: int, indent: str, imports: dict[str, set[str]]) -> str:
    """Return a Python expression that begins at `column`: on one line, or one part per line."""
    if dataclasses.is_dataclass(value):
        kind = type(value)
        imports.setdefault(_offered_by(kind), set()).add(kind.__name__)
        parts = [
            (f"{field.name}=", getattr(value, field.name))
            for field in dataclasses.fields(value)
            if getattr(value, field.name) != field.default
        ]
        opening, closing = f"{kind.__name__}(", ")"
        if _reads_file(value):
            parts = [("", OWN_TEXT), *(part for part in parts if part[0] != "text=")]
            opening = f"{kind.__name__}.from_file("
    elif isinstance(value, tuple):
        parts = [("", part) for part in value]
        opening, closing = "(", ",)" if len(value) == 1 else ")"
    else:
        return _literal(value)
    inner = indent + _INDENT
    texts = [
        name + _expression(part, len(inner) + len(name), inner, imports) for name, part in parts
    ]
    line = opening + ", ".join(texts) + closing
    if "\n" not in line and column + len(line) < _WIDTH:
        return line
    body = "".join(f"{inner}{text},\n" for text in texts)
    return f"{opening}\n{body}{indent})"


def _offered_by(kind: type) -> str:
    """Return the module that a script imports a class from: its part of attnlab, if possible."""
    if kind is Experiment:
        return "attnlab"
    part = ".".join(kind.__module__.split(".")[:2])
    return part if hasattr(sys.modules[part], kind.__name__) else kind.__module__


def _literal(value: Any) -> str:
    text = repr(value)
    plain = isinstance(value, str) and not {"'", '"'} & set(value)
    return f'"{text[1:-1]}"' if plain else text
