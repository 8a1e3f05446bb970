"""`compare`: many runs, and what their seeds say together."""

import argparse
import json
from typing import Any

from attnlab.command_line.ending import Doing
from attnlab.command_line.many_runs import add_reuse, carry_out, executor_of, take_reuse
from attnlab.command_line.numbers import result_parts, seed_lines, whole_number
from attnlab.comparisons.grid import (
    PRESET,
    Grid,
    alternatives,
    experiments_of,
    settings_of,
)
from attnlab.comparisons.records import to_csv, to_records
from attnlab.comparisons.summary import Row, summarise
from attnlab.runs.option_texts import EXPERIMENT_PARTS


def add_compare(commands: argparse._SubParsersAction) -> None:
    """The command `compare`."""
    comparing = commands.add_parser(
        "compare",
        add_help=False,
        help="train every combination of some options over seeds, and compare them",
        description=(
            "Any option may have several values, between commas or, if it is a list of numbers "
            "itself, between |. Runs that the library has are not trained again."
        ),
    )
    comparing.add_argument("--preset", metavar="NAME,…", help="start from these experiments")
    comparing.add_argument("--seeds", default="5", help="how many seeds each (default 5)")
    comparing.add_argument("--first-seed", default="0", help="the first of them (default 0)")
    where = comparing.add_mutually_exclusive_group()
    where.add_argument("--workers", help="compute in so many processes of this machine")
    where.add_argument("--dask", metavar="ADDRESS", help="compute on this Dask scheduler's workers")
    add_reuse(comparing)
    shown = comparing.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="one JSON object")
    shown.add_argument("--csv", action="store_true", help="a table of comma-separated values")
    comparing.add_options(EXPERIMENT_PARTS, leave_out=("seed",))


def run_compare(parsed: dict[str, Any], doing: Doing) -> int:
    """Train them all, and print a row for each setting."""
    as_json, as_csv = parsed.pop("json"), parsed.pop("csv")
    workers, address = parsed.pop("workers", None), parsed.pop("dask", None)
    reuse = take_reuse(parsed)
    seeds = whole_number("seeds", parsed.pop("seeds"), 1, 100)
    first_seed = whole_number("first_seed", parsed.pop("first_seed"), 0, 2**31 - 101)
    # What the others are changes of comes first.
    names = sorted(parsed, key=lambda name: (name != PRESET, name))
    options = tuple((name, alternatives(name, parsed[name])) for name in names)
    grid = Grid(options, seeds=seeds, first_seed=first_seed)
    settings = settings_of(grid)
    if all(setting.experiment is None for setting in settings):
        raise ValueError(settings[0].problem)
    experiments = [each for setting in settings for each in experiments_of(setting, grid)]
    with executor_of(workers, address) as executor:
        what = f"of {len(settings):,} settings"
        results = carry_out(experiments, executor, doing, what=what, **reuse)
    rows = summarise(results, settings)
    if as_json:
        record = {"seeds": seeds, "rows": to_records(rows)}
        print(json.dumps(record))
    elif as_csv:
        print(to_csv(rows), end="")
    else:
        for row in rows:
            print(_line(row))
    # As many a script asks: whether there is any result.
    return 0 if any(row.finished for row in rows) else 1


def _line(row: Row) -> str:
    setting = ", ".join(f"{name} {text}" for name, text in row.setting.options) or "the defaults"
    lines = []
    if row.nll is not None:
        lines = ["  ".join(result_parts(row)), *seed_lines(row)]
    reasons = dict.fromkeys(each.reason for each in row.unfinished)
    lines += [f"{len(row.unfinished) or 1} without figures: {reason}" for reason in reasons]
    return "\n    ".join([setting, *lines])
