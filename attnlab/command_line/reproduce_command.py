"""`reproduce`: a published comparison made again, beside what could have been learned."""

import argparse
import json
from typing import Any

from attnlab.command_line.ending import Doing
from attnlab.command_line.many_runs import add_reuse, carry_out, executor_of, take_reuse
from attnlab.command_line.numbers import result_parts, seed_lines, whole_number
from attnlab.comparisons.grid import MOST_SEEDS
from attnlab.comparisons.published.literature import POST
from attnlab.comparisons.published.parts import PARTS, Part, part_named, runs_of
from attnlab.comparisons.published.rows import PublishedRow, rows_of, to_record
from attnlab.comparisons.published.shipped import shipped, shipped_results
from attnlab.configuration.options import OptionError


def add_reproduce(commands: argparse._SubParsersAction) -> None:
    """The command `reproduce`."""
    usual = ", ".join(f"{part.seeds} of {name}" for name, part in PARTS.items())
    reproducing = commands.add_parser(
        "reproduce",
        help="train what a blog post published over seeds, and say what it means",
        description=(
            f"Attention against a linear model, as in {POST}. Runs that the library has are not "
            "trained again."
        ),
    )
    reproducing.add_argument("--seeds", help=f"how many seeds each (default {usual})")
    reproducing.add_argument(
        "--part",
        default="table",
        metavar="{" + ",".join(PARTS) + "}",
        help=(
            "table: the rows as published (default); ladder: one switch after another from there "
            "to the ceiling; zoo: the same processes with all model families"
        ),
    )
    where = reproducing.add_mutually_exclusive_group()
    where.add_argument("--workers", help="compute in so many processes of this machine")
    where.add_argument(
        "--shipped", action="store_true", help="print the result that comes with the program"
    )
    add_reuse(reproducing)
    reproducing.add_argument("--json", action="store_true", help="one JSON object")


def run_reproduce(parsed: dict[str, Any], doing: Doing) -> int:
    """Train them all, or read what was trained before, and print a row for each setting."""
    part, is_shipped = part_named(parsed["part"]), parsed["shipped"]
    if is_shipped:
        seeds = _shipped_seeds(part, parsed.get("seeds"))
        rows = rows_of(part, shipped_results(part), references=shipped().references_of, seeds=seeds)
    else:
        seeds = whole_number("seeds", parsed.get("seeds", str(part.seeds)), 1, MOST_SEEDS)
        with executor_of(parsed.get("workers"), None) as executor:
            what = f"of {len(part.settings)} settings"
            reuse = take_reuse(parsed)
            results = carry_out(runs_of(part, seeds), executor, doing, what=what, **reuse)
        rows = rows_of(part, results)
    status = 0 if any(row.row.finished for row in rows) else 1
    if parsed["json"]:
        made = vars(shipped().made) if is_shipped else None
        record = {"part": part.name, "seeds": seeds, "published_in": POST, "shipped": made}
        record["rows"] = [to_record(row) for row in rows]
        print(json.dumps(record))
        return status
    if is_shipped:
        print(made_in_words())
    for row in rows:
        print(_line(row))
    return status


def made_in_words() -> str:
    """Where the shipped result comes from."""
    made = shipped().made
    return f"Made {made.date} with attnlab {made.attnlab} and JAX {made.jax} on {made.machine}."


def _shipped_seeds(part: Part, text: str | None) -> int:
    there = shipped().seeds[part.name]
    seeds = whole_number("seeds", text or str(there), 1, MOST_SEEDS)
    if seeds > there:
        problem = f"more than the {there} that come with the program"
        raise OptionError("seeds", seeds, problem, "Choose fewer, or leave out --shipped")
    return seeds


def _line(row: PublishedRow) -> str:
    inner = row.row
    lines = [] if inner.accuracy is None else [*result_parts(inner), *seed_lines(inner)]
    return "\n    ".join([f"{row.process}, {row.model}", *lines, row.verdict])
