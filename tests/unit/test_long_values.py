"""A message repeats at most the beginning of a value, however long that is."""

import json

import pytest

from attnlab.command_line.cli import main
from attnlab.configuration.number_text import read_matrix, read_numbers, read_value
from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.configuration.records import from_record
from attnlab.generators import GENERATORS, Copy, Markov, read_source
from attnlab.lessons.regression_data import read_points
from attnlab.optimum import next_token
from attnlab.runs.option_texts import experiment_parts, read_experiment, read_generator
from attnlab.training.experiment import VERSION, Experiment, from_json
from attnlab.training.steps import Training

MOST = 400
LENGTH = 300_000

pytestmark = pytest.mark.usefixtures("as_users_run")


def experiment_with(**parts):
    return from_json(json.dumps({"version": VERSION, "name": "experiment", **parts}))


REFUSALS = {
    "option by its name": lambda long: from_record(
        GENERATORS, {"name": "markov", long: 1}, option_name="generator"
    ),
    "option of an experiment": lambda long: experiment_with(**{long: 1}),
    "no registered name": lambda long: experiment_with(generator={"name": long}),
    "no object": lambda long: experiment_with(generator=long),
    "a version": lambda long: from_json(json.dumps({"version": long})),
    "no JSON": from_json,
    "nesting": lambda long: from_json("[" * len(long)),
    "many digits": lambda long: from_json("9" * len(long)),
    "a choice": lambda long: Training(loss=long),
    "a number": lambda long: Training(steps=long),
    "a probability": lambda long: Markov(initial=(long, 0.5, 0.5)),
    "a probability of many digits": lambda long: Markov(initial=(10**4_000, 0.5, 0.5)),
    "a row": lambda long: Markov(initial=(0.5,) * len(long)),
    "a table": lambda long: Markov(transition=((0.5,),) * len(long)),
    "symbols": lambda long: GENERATORS["custom"](symbols=long),
    "days that are read": lambda long: GENERATORS["recall"](days=(1,) * len(long)),
    "days": lambda long: next_token(Markov(), [7] * len(long)),
    "a flag": lambda long: read_generator("markov", {"initial": long}),
    "a flag of something else": lambda long: read_generator("markov", {"n": long}),
    "a flag for a number": lambda long: read_experiment(Experiment(), {"steps": long}),
    "a registered flag": lambda long: read_experiment(Experiment(), {"model": long}),
    "numbers": lambda long: read_numbers("numbers", long, (0.5,)),
    "a cell": lambda long: read_matrix("w", long, most_rows=3, most_columns=3),
    "many cells": lambda long: read_matrix("w", "1 " * len(long), most_rows=3, most_columns=3),
    "rows of two lengths": lambda long: read_matrix(
        "w", f"1 1;{long}", most_rows=3, most_columns=3
    ),
    "valid numbers": lambda long: read_numbers("numbers", "1 " * len(long), (0.5,)),
    "a valid source": lambda long: read_source(Copy(), "a" * len(long)),
    "valid points": lambda long: read_points("points", "\n" * len(long) + "1 2\n2 3\n3 4"),
    "a point": lambda long: read_points("points", long),
    "a point of many numbers": lambda long: read_points("points", "1 " * len(long)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_short(case):
    with pytest.raises(ValueError, match=r"\.$") as refused:
        REFUSALS[case]("x" * LENGTH)
    assert len(str(refused.value)) < MOST


@pytest.mark.parametrize("part", experiment_parts())
def test_no_option_is_read_from_a_long_text(part):
    for name, spec in options_of(part).items():
        # Of a text that is meant to be long, the longest is another.
        most = spec.long_text or 10_000
        for text in ("1 " * (LENGTH + most), "1" * (LENGTH + most)):
            with pytest.raises(OptionError, match=f"`{name}` .* longer than {most:,} characters"):
                read_value(name, spec, text, default_of(part, name))


COMMANDS = {
    "a command": lambda long: (long,),
    "a generator": lambda long: ("sample", long),
    "arguments": lambda long: ("sample", "markov", long),
    "a word of many": lambda long: ("sample", "markov", *long[:50_000]),
    "lines": lambda long: ("sample", "markov", "a\n" * len(long)),
    "a flag": lambda long: ("train", f"--{long}"),
    "a flag without a value": lambda long: ("train", f"--json={long}"),
    "a value": lambda long: ("train", "--steps", long),
    "a preset": lambda long: ("train", "--preset", long),
    "a size": lambda long: ("sample", "markov", "--size", long),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_a_refused_argument_is_told_in_one_short_line(capsys, case):
    try:
        status = main(COMMANDS[case]("x" * LENGTH))
    except SystemExit as end:
        status = end.code
    seen = capsys.readouterr()
    assert (status, seen.out) == (2, "")
    assert len(seen.err) < MOST
    assert seen.err.count("\n") == 1
