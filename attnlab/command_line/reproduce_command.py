"""The command `reproduce`: whether runs here agree with published results."""

import argparse
import json
from typing import Any

from attnlab.command_line.many_runs import (
    add_reuse,
    carry_out,
    executor_of,
    result_parts,
    seed_lines,
    show_interval,
    take_reuse,
)
from attnlab.command_line.parser import CommandProgress, whole_number
from attnlab.comparisons.grid import MOST_SEEDS
from attnlab.comparisons.published import (
    PARTS,
    POST,
    Made,
    Part,
    part_named,
    runs_of,
    shipped,
    shipped_results,
)
from attnlab.comparisons.verdicts import PublishedRow, rows_of, to_record
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import OptionError, choose_one_of
from attnlab.known_results import KNOWN_RESULTS, KnownResult, Verdict, overall
from attnlab.known_results.shipped import shipped_minutes, shipped_numbers


def add_reproduce(commands: argparse._SubParsersAction) -> None:
    """Add the command `reproduce`."""
    usual = ", ".join(f"{part.seeds} of {name}" for name, part in PARTS.items())
    reproducing = commands.add_parser(
        "reproduce",
        help="train a published result's runs over seeds, and print whether it is found here",
        description=(
            "Train the runs of a published result, and print a verdict on each of its claims. "
            f"Without a name: all settings of {POST}. Runs in the library are not trained again."
        ),
    )
    reproducing.add_argument(
        "name", nargs="?", metavar="NAME", help="a published result, see --list"
    )
    reproducing.add_argument("--list", action="store_true", help="print the published results")
    reproducing.add_argument("--seeds", help=f"seeds of each setting (default {usual})")
    reproducing.add_argument(
        "--part",
        metavar="{" + ",".join(PARTS) + "}",
        help=(
            "of the comparison with the blog post. table: its rows as published (default); ladder: "
            "one change after another from there to the ceiling; zoo: all models on its processes"
        ),
    )
    where = reproducing.add_mutually_exclusive_group()
    where.add_argument("--workers", help="number of worker processes on this machine")
    where.add_argument(
        "--shipped", action="store_true", help="print the result that comes with the program"
    )
    add_reuse(reproducing)
    reproducing.add_argument("--json", action="store_true", help="print one JSON object")


def run_reproduce(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Train the runs of a published result, or read the shipped ones, and print the verdicts."""
    if parsed.pop("list"):
        return _print_list(as_json=parsed["json"])
    if "name" in parsed:
        return _run_known(parsed, progress)
    part, is_shipped = part_named(parsed.get("part", "table")), parsed["shipped"]
    if is_shipped:
        seeds = _shipped_seeds(part, parsed.get("seeds"))
        rows = rows_of(part, shipped_results(part), references=shipped().references_of, seeds=seeds)
    else:
        seeds = whole_number("seeds", parsed.get("seeds", str(part.seeds)), 1, MOST_SEEDS)
        with executor_of(parsed.get("workers"), None) as executor:
            what = f"of {len(part.settings)} settings"
            reuse = take_reuse(parsed)
            results = carry_out(runs_of(part, seeds), executor, progress, what=what, **reuse)
        rows = rows_of(part, results)
    status = 0 if any(row.row.finished for row in rows) else 1
    if parsed["json"]:
        made = vars(shipped().made) if is_shipped else None
        record = {"part": part.name, "seeds": seeds, "published_in": POST, "shipped": made}
        record["rows"] = [to_record(row) for row in rows]
        print(json.dumps(record))
        return status
    if is_shipped:
        print(f"Made {shipped().made}.")
    for row in rows:
        print(_published_line(row))
    return status


def _shipped_seeds(part: Part, text: str | None) -> int:
    return _seeds_within(shipped().seeds[part.name], text)


def _seeds_within(there: int, text: str | None) -> int:
    seeds = whole_number("seeds", text or str(there), 1, MOST_SEEDS)
    if seeds > there:
        problem = f"more than the {there} that come with the program"
        raise OptionError("seeds", seeds, problem, "Choose fewer, or leave out --shipped")
    return seeds


def _published_line(row: PublishedRow) -> str:
    inner = row.row
    lines = [] if inner.accuracy is None else [*result_parts(inner), *seed_lines(inner)]
    return "\n    ".join([f"{row.process}, {row.model}", *lines, row.verdict])


def _print_list(*, as_json: bool) -> int:
    if as_json:
        keys = ("name", "claim", "source")
        found = [
            {key: getattr(known, key) for key in keys} | {"minutes": shipped_minutes(known)}
            for known in KNOWN_RESULTS.values()
        ]
        print(json.dumps({"results": found}))
        return 0
    for known in KNOWN_RESULTS.values():
        minutes = f"{shipped_minutes(known):.0f} minutes of processor time"
        print(f"{known.name}: {known.claim}\n    {known.source}. About {minutes}.")
    return 0


def _known(name: str) -> KnownResult:
    if name not in KNOWN_RESULTS:
        remedy = choose_one_of(KNOWN_RESULTS, name)
        raise OptionError("name", name, "not a published result here", remedy)
    return KNOWN_RESULTS[name]


def _run_known(parsed: dict[str, Any], progress: CommandProgress) -> int:
    known, made = _known(parsed["name"]), None
    if "part" in parsed:
        problem, remedy = "it is possible only without a name", "Leave out one of the two"
        raise OptionError("part", parsed["part"], problem, remedy)
    if parsed["shipped"]:
        seeds = _seeds_within(known.seeds, parsed.get("seeds"))
        made, numbers = shipped_numbers(known)
        numbers = known.first(seeds, numbers)
    else:
        seeds = whole_number("seeds", parsed.get("seeds", str(known.seeds)), 1, MOST_SEEDS)
        with executor_of(parsed.get("workers"), None) as executor:
            what, reuse = f"of {len(known.settings)} settings", take_reuse(parsed)
            runs, reuse = known.runs(seeds), reuse | known.recording
            results = carry_out(runs, executor, progress, what=what, **reuse)
        numbers = known.numbers_of(results)
    verdicts = known.verdicts(numbers)
    if parsed["json"]:
        print(json.dumps(_known_record(known, seeds, made, verdicts)))
    else:
        if made is not None:
            print(f"Made {made}.")
        print(f"{known.claim} {known.source}: {overall(verdicts)}.")
        for verdict in verdicts:
            print("\n    ".join(_verdict_lines(verdict)))
    return 0 if any(verdict.numbers for verdict in verdicts) else 1


def _known_record(
    known: KnownResult, seeds: int, made: Made | None, verdicts: tuple[Verdict, ...]
) -> dict[str, Any]:
    return {
        "name": known.name,
        "claim": known.claim,
        "source": known.source,
        "predicted": known.predicted,
        "seeds": seeds,
        "first_seed": known.first_seed,
        "tuned_on": known.tuned_on,
        "shipped": made and vars(made),
        "verdict": overall(verdicts),
        "checks": [_verdict_record(verdict) for verdict in verdicts],
    }


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    check, mean, share = verdict.check, verdict.mean, verdict.share
    return {
        "claim": check.claim,
        "published": check.published,
        # JSON has no infinite numbers.
        "least": check.least if check.least > -float("inf") else None,
        "most": check.most if check.most < float("inf") else None,
        "numbers": {str(seed): number for seed, number in verdict.numbers.items()},
        **{name: mean and getattr(mean, name) for name in ("mean", "low", "high")},
        "within": verdict.within,
        "share_low": share and share.low,
        "share_high": share and share.high,
        "verdict": verdict.says,
    }


def _verdict_lines(verdict: Verdict) -> list[str]:
    check, mean, share = verdict.check, verdict.mean, verdict.share
    if mean is None or share is None:
        return [f"{check.claim} No run is finished."]
    published = "" if check.published is None else f"; published {check.published:g}"
    low, high = (100 * end for end in share.ends)
    each = " ".join(f"{number:.4f}" for number in verdict.numbers.values())
    return [
        f"{check.claim} {verdict.says.capitalize()}.",
        f"mean {show_interval(mean)}{published}; each seed: {each}",
        f"{verdict.within} of {len(verdict.numbers)} seeds within the claim "
        f"(95 % interval of that share: {show_range(low, high, places=0)} %)",
    ]
