"""The command `reproduce`: whether runs here agree with published results."""

import argparse
import dataclasses
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
from attnlab.comparisons.grid import MOST_SEEDS, Study
from attnlab.comparisons.shipped import Made, shipped
from attnlab.configuration.options import OptionError, choose_one_of
from attnlab.known_results import KNOWN_RESULTS, KnownResult, Verdict, overall
from attnlab.known_results.blog_post import BLOG_POST, PARTS, POST, part_named
from attnlab.known_results.post_verdicts import PublishedRow, rows_of, to_record
from attnlab.runs.run_summary import RunSummary


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
        _print_list(as_json=parsed["json"])
        return 0
    name = parsed.get("name")
    known = None if name is None else _known(name)
    if known is not None and "part" in parsed:
        problem, remedy = "it is possible only without a name", "Leave out one of the two"
        raise OptionError("part", parsed["part"], problem, remedy)
    study = part_named(parsed.get("part", "table")) if known is None else known.study
    stored = shipped(BLOG_POST.name if known is None else known.name)
    study = dataclasses.replace(study, seeds=_seeds(study, parsed))
    made = stored.made if parsed["shipped"] else None
    results = stored.results if parsed["shipped"] else _train(study, parsed, progress)
    if made is not None and not parsed["json"]:
        print(f"Made {made}.")
    if known is None:
        references = stored.references_of if made is not None else None
        rows = rows_of(study, results, references=references)
        _print_rows(study, rows, made, as_json=parsed["json"])
        return 0 if any(row.row.finished for row in rows) else 1
    known = dataclasses.replace(known, study=study)
    verdicts = known.verdicts(known.numbers_of(results))
    _print_verdicts(known, verdicts, made, as_json=parsed["json"])
    return 0 if any(verdict.numbers for verdict in verdicts) else 1


def _known(name: str) -> KnownResult:
    if name not in KNOWN_RESULTS:
        remedy = choose_one_of(KNOWN_RESULTS, name)
        raise OptionError("name", name, "not a published result here", remedy)
    return KNOWN_RESULTS[name]


def _seeds(study: Study, parsed: dict[str, Any]) -> int:
    seeds = whole_number("seeds", parsed.get("seeds", str(study.seeds)), 1, MOST_SEEDS)
    if parsed["shipped"] and seeds > study.seeds:
        problem = f"more than the {study.seeds} that come with the program"
        raise OptionError("seeds", seeds, problem, "Choose fewer, or leave out --shipped")
    return seeds


def _train(study: Study, parsed: dict[str, Any], progress: CommandProgress) -> list[RunSummary]:
    with executor_of(parsed.get("workers"), None) as executor:
        what = f"of {len(study.settings)} settings"
        how = take_reuse(parsed) | study.recording
        return carry_out(study.runs, executor, progress, what=what, **how)


def _print_list(*, as_json: bool) -> None:
    found = [(known, shipped(known.name).minutes) for known in KNOWN_RESULTS.values()]
    if as_json:
        keys = ("name", "claim", "source")
        records = [
            {key: getattr(known, key) for key in keys} | {"minutes": minutes}
            for known, minutes in found
        ]
        print(json.dumps({"results": records}))
        return
    for known, minutes in found:
        time = f"{minutes:.0f} minutes of processor time"
        print(f"{known.name}: {known.claim}\n    {known.source}. About {time}.")


def _print_rows(
    study: Study, rows: tuple[PublishedRow, ...], made: Made | None, *, as_json: bool
) -> None:
    if as_json:
        head = {"part": study.name, "seeds": study.seeds, "published_in": POST}
        records = {"shipped": made and vars(made), "rows": [to_record(row) for row in rows]}
        print(json.dumps(head | records))
        return
    for row in rows:
        inner = row.row
        lines = [] if inner.accuracy is None else [*result_parts(inner), *seed_lines(inner)]
        print("\n    ".join([f"{row.process}, {row.model}", *lines, row.verdict]))


def _print_verdicts(
    known: KnownResult, verdicts: tuple[Verdict, ...], made: Made | None, *, as_json: bool
) -> None:
    if as_json:
        record = {
            "name": known.name,
            "claim": known.claim,
            "source": known.source,
            "predicted": known.predicted,
            "seeds": known.study.seeds,
            "first_seed": known.study.first_seed,
            "tuned_on": known.tuned_on,
            "shipped": made and vars(made),
            "verdict": overall(verdicts),
            "checks": [_record(verdict) for verdict in verdicts],
        }
        print(json.dumps(record))
        return
    print(f"{known.claim} {known.source}: {overall(verdicts)}.")
    for verdict in verdicts:
        lines = [f"{verdict.check.claim} {verdict.says.capitalize()}.", verdict.in_words()]
        if verdict.mean is not None:
            each = " ".join(f"{number:.4f}" for number in verdict.numbers.values())
            lines.append(f"mean {show_interval(verdict.mean)}; each seed: {each}")
        print("\n    ".join(lines))


def _record(verdict: Verdict) -> dict[str, Any]:
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
