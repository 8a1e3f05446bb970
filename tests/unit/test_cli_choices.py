"""Every name that an error of a command proposes is accepted in place of the wrong one."""

import argparse
import re

import pytest

from attnlab.command_line import cli, many_runs, measure_command, process_commands, train_command
from attnlab.configuration.options import options_of
from attnlab.generators import PROCESSES, TASKS
from attnlab.runs.option_texts import experiment_parts
from attnlab.training.presets import PRESETS

WRONG = "no-such-name"
# An error that has more names to list gives only the nearest.
MOST_LISTED, NEAREST = 12, 3
# Some choices need another one beside them.
BESIDE = (
    (),
    ("--task=cards",),
    ("--model=transformer",),
    ("--model=transformer", "--loss=next"),
    # Cells and words of any kind.
    ("--layout=stream", "--text", "a, b; a\tb c d\n" * 1_500),
)

pytestmark = pytest.mark.usefixtures("as_users_run")


class AcceptedError(Exception):
    """The arguments are accepted, so that the work would begin."""


@pytest.fixture
def answer(run, monkeypatch):
    """Says why a command refuses its arguments, or "" if it accepts them, without its work."""

    def begin(*arguments, **named):
        raise AcceptedError

    for module, name in (
        (train_command, "prepare"), (many_runs, "carry_out"), (process_commands, "sample"),
        (process_commands, "optimum"), (measure_command, "check_can_probe"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, begin)

    def answer_to(*arguments):
        try:
            status, _, said = run(*arguments)
        except AcceptedError:
            return ""
        return said if status else ""

    return answer_to


def owners():
    """The flags that choose a class, by the class."""
    return {
        part: f"--{name}={part.name}"
        for kind in experiment_parts()
        for name, spec in options_of(kind).items()
        for part in (spec.registry or {}).values()
        if name != "training"
    }


def flags():
    """Every flag of a part that has choices, after those that choose the part."""
    chosen = owners()
    for kind in experiment_parts():
        for name, spec in options_of(kind).items():
            if name == "training" or not (names := [*(spec.registry or spec.choices)]):
                continue
            own = [chosen[kind]] if kind in chosen else []
            if own and own[0].startswith("--position"):
                own.append("--model=transformer")
            yield ("train", *own, f"--{name.replace('_', '-')}"), names
    for command in ("train", "probe", "compare"):
        yield (command, "--generator"), [*PROCESSES]
        yield (command, "--task"), [*TASKS]
        yield (command, "--preset"), [*PRESETS]
        yield (command, "--help"), [part.name for part in experiment_parts()]
    for command in ("sample", "optimum"):
        yield (command,), [*PROCESSES]
        yield (command, "--help"), [*PROCESSES]
    yield ("reproduce", "--shipped", "--part"), ["table", "ladder", "zoo"]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "listed"), [*flags()], ids=lambda part: " ".join(part[:3]))
def test_an_error_proposes_what_is_accepted(answer, before, listed):
    *_, names = answer(*before, WRONG).partition("hoose one of ")
    names = re.findall(r"'([^']*)'", names)
    assert names == listed if len(listed) <= MOST_LISTED else len(names) == NEAREST
    for name in names:
        assert any(not answer(*before, name, *beside) for beside in BESIDE), (before, name)


def choosing(parser, path=()):
    """Every argument whose choices argparse itself checks, after the commands before it."""
    for action in parser._actions:
        if action.choices is not None:
            yield (*path, *action.option_strings[:1]), list(action.choices)
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from choosing(inner, (*path, name))


def test_argparse_lists_all_that_it_accepts(run):
    for before, listed in choosing(cli._parser()):
        status, out, said = run(*before, WRONG)
        assert (status, out) == (2, "")
        assert re.findall(r"'([^']*)'", said.partition("choose from ")[2]) == listed, said
