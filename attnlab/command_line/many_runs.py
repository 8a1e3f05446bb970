"""The command `compare`, and what it shares with others that train many runs over seeds."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from attnlab.command_line.output import ADDRESS, check_output, write_output
from attnlab.command_line.parser import CommandProgress, whole_number
from attnlab.command_line.process_commands import known_value
from attnlab.command_line.runs_command import open_library
from attnlab.comparisons.grid import (
    PRESET,
    Grid,
    alternatives,
    metrics_in,
    study_of,
    to_parameters,
)
from attnlab.comparisons.intervals import DOUBTS, LEVEL, Interval
from attnlab.comparisons.many import run_all
from attnlab.comparisons.paired import common_seeds
from attnlab.comparisons.processes import Processes
from attnlab.comparisons.records import differing_options, to_csv, to_records
from attnlab.comparisons.summary import Row, figures_of, interval_of, summarise
from attnlab.comparisons.verdict import tests_of
from attnlab.configuration.number_text import show_count, show_range
from attnlab.configuration.options import OptionError, present
from attnlab.inspection import MEASURES, measure_label, measures_for
from attnlab.result_card import card_of_comparison, card_to_json
from attnlab.runs.library import LibraryError
from attnlab.runs.links import to_query
from attnlab.runs.option_texts import experiment_parts
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment

FIGURE_NAMES = MappingProxyType({"accuracy": "accuracy", "exact_match": "exact match"})
_MOST_WORKERS = 1_000
# The best setting is compared with at most this many others, the next best.
_MOST_PAIRS = 5


def add_reuse(command: argparse.ArgumentParser) -> None:
    """Add the flags that say which runs are trained again although the library has them."""
    reuse = command.add_mutually_exclusive_group()
    reuse.add_argument(
        "--again", action="store_true", help="train every run, even if it is in the library"
    )
    reuse.add_argument(
        "--any-version",
        action="store_true",
        help="also reuse runs that other versions of attnlab or JAX made",
    )


def take_reuse(parsed: dict[str, Any]) -> dict[str, bool]:
    """Remove the flags of `add_reuse` from the parsed arguments; return them for `carry_out`."""
    return {name: parsed.pop(name, False) for name in ("again", "any_version")}


def carry_out(
    experiments: Sequence[Experiment],
    executor: Executor | None,
    progress: CommandProgress,
    *,
    what: str,
    keep: bool = True,
    **reuse: Any,
) -> list[RunSummary]:
    """Return the results of all runs, training those that the user's library cannot provide.

    Progress goes to `progress` and to standard error. `what` is the text after the number of runs,
    and `reuse` has further arguments of `run_all`, such as `again` and `any_version`. Without
    `keep` the library is not used.
    """
    total, library, results = len(experiments), open_library() if keep else None, []
    kept = "" if library is None else "; finished runs are in the library"
    progress.words = f"at run 0 of {total:,}{kept}"
    print(f"{total:,} runs {what} …", file=sys.stderr)
    began = time.perf_counter()
    try:
        for result in run_all(experiments, executor, library=library, **reuse):
            results.append(result)
            done, seconds = len(results), time.perf_counter() - began
            progress.words = f"at run {done:,} of {total:,}{kept}"
            rest = f", about {seconds / done * (total - done):,.0f} s left" if done < total else ""
            state = result.reason or result.state
            print(f"run {done:,} of {total:,}: {state}{rest}", file=sys.stderr)
    except LibraryError as error:
        print(f"attnlab: not all runs are in the library. {error}", file=sys.stderr)
    return results


@contextmanager
def executor_of(workers: str | None, address: str | None) -> Iterator[Executor | None]:
    """Yield an executor for local worker processes or for Dask, or None for this process."""
    if workers is not None:
        with Processes(whole_number("workers", workers, 1, _MOST_WORKERS)) as pool:
            yield pool
    elif address is not None:
        with _client(address) as client:
            # Not needed here: Dask retries a lost task itself, see its `allowed-failures`.
            yield client.get_executor(retries=0)
    else:
        yield None


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        remedy = "Install it with `pip install attnlab[dask]`"
        raise OptionError("dask", address, "Dask is not installed here", remedy) from None
    try:
        return Client(address)
    except TypeError:
        problem = "a TLS address needs certificates"
        remedy = "Set `distributed.comm.tls` in Dask's configuration, or name a tcp:// address"
        raise OptionError("dask", address, problem, remedy) from None
    except (OSError, TimeoutError, ValueError) as error:
        remedy = "Give the address of a running scheduler, such as tcp://127.0.0.1:8786"
        raise OptionError(
            "dask", address, f"no answer from this address ({error})", remedy
        ) from None


def add_compare(commands: argparse._SubParsersAction) -> None:
    """Add the command `compare`."""
    comparing = commands.add_parser(
        "compare",
        add_help=False,
        help="train every combination of some options over seeds, and compare them",
        description=(
            "Any option may have several values, separated by commas or, if it is itself a list "
            "of numbers, by |. Runs in the library are not trained again."
        ),
    )
    comparing.add_argument("--preset", metavar="NAME,…", help="start from these experiments")
    comparing.add_argument("--seeds", default="5", help="seeds of each setting (default 5)")
    comparing.add_argument("--first-seed", default="0", help="the first seed (default 0)")
    comparing.add_argument(
        "--metrics",
        metavar="NAME,…",
        default="",
        help=f"also measure: {', '.join(MEASURES)}, belief_r2:SITE",
    )
    where = comparing.add_mutually_exclusive_group()
    where.add_argument("--workers", help="number of worker processes on this machine")
    where.add_argument("--dask", metavar="ADDRESS", help="compute on this Dask scheduler's workers")
    comparing.add_argument("--card", metavar="FILE", help="write a card, which `check` takes")
    add_reuse(comparing)
    shown = comparing.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one JSON object")
    shown.add_argument("--csv", action="store_true", help="print a CSV table")
    comparing.add_options(experiment_parts(), leave_out=("seed",))


def run_compare(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Train all combinations of the options, and print one row per setting."""
    as_json, as_csv = parsed.pop("json"), parsed.pop("csv")
    workers, address = parsed.pop("workers", None), parsed.pop("dask", None)
    reuse, card = take_reuse(parsed), parsed.pop("card", None)
    if card is not None:
        check_output("card", card)
    seeds = whole_number("seeds", parsed.pop("seeds"), 1, 100)
    first_seed = whole_number("first_seed", parsed.pop("first_seed"), 0, 2**31 - 101)
    metrics = metrics_in(parsed.pop("metrics"))
    # The preset comes first, since the other options change it.
    names = sorted(parsed, key=lambda name: (name != PRESET, name))
    options = tuple((name, alternatives(name, parsed[name])) for name in names)
    grid = Grid(options, seeds=seeds, first_seed=first_seed, metrics=metrics)
    study = study_of(grid)
    settings = study.settings
    if all(setting.experiment is None for setting in settings):
        raise ValueError(settings[0].problem)
    for name in set(metrics) - set(MEASURES):
        possible = measures_for(each.experiment for each in settings if each.experiment is not None)
        if name in possible:
            continue
        problem = "none of these models has the site, or none can be probed"
        raise OptionError("metrics", name, problem, f"Choose from {', '.join(possible)}")
    with executor_of(workers, address) as executor:
        what = f"of {len(settings):,} settings"
        how = reuse | study.recording
        results = carry_out(study.runs, executor, progress, what=what, **how)
    rows = summarise(results, settings)
    if as_json:
        record = {"seeds": seeds, "rows": to_records(rows)}
        print(json.dumps(record))
    elif as_csv:
        print(to_csv(rows), end="")
    else:
        for row in rows:
            print(_compared_line(row))
        for line in _paired_lines(rows):
            print(line)
    # The status tells scripts whether there is any result.
    found = any(row.finished for row in rows)
    if card is not None and found:
        names = differing_options(rows)
        labels = [_setting(row, names) for row in rows]
        query = to_query(Experiment()) | to_parameters(grid.options, seeds, metrics)
        link = f"{ADDRESS}/compare?{urlencode(query)}"
        made = card_of_comparison(results, settings, labels, link=link)
        found = write_output("card", card, card_to_json(made).encode())
    return 0 if found else 1


def _paired_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield, for each process, how far the best setting is from the next ones, paired by seed."""
    by_process: dict[object, list[Row]] = {}
    for row in rows:
        if len(row.finished) > 1:
            by_process.setdefault((row.experiment.generator, row.experiment.length), []).append(row)
    for group in by_process.values():
        figure = "accuracy" if group[0].exact_match is None else "exact_match"
        best, *others = sorted(group, key=lambda row: -present(interval_of(row, figure)).mean)
        pairs = [(row, best) for row in others if len(common_seeds(row, best)) > 1][:_MOST_PAIRS]
        for (other, _), each in zip(pairs, tests_of(group, pairs, figure), strict=True):
            # The best over all seeds may be worse over those that both have.
            found_out = "better" if each.difference.mean > 0 else "worse"
            verdict = "within the noise" if each.within_noise else found_out
            names = differing_options([best, other])
            change = f"{each.difference.mean:+.4f}".replace("-", "−")
            yield (
                f"{_setting(best, names)} − {_setting(other, names)}: {FIGURE_NAMES[figure]} "
                f"{change} ({LEVEL:.0%} {show_range(*each.difference.ends, places=4)}, "
                f"paired over {each.difference.n} seeds), p {each.adjusted_p:.2g} corrected for "
                f"{show_count(each.among, 'pair')}: {verdict}"
            )


def _setting(row: Row, names: Sequence[str] | None = None) -> str:
    """Return the options of a setting, or those of these names, as text."""
    options = row.setting.options
    chosen = [(name, text) for name, text in options if names is None or name in names]
    return ", ".join(f"{name} {text}" for name, text in chosen) or "the defaults"


def _compared_line(row: Row) -> str:
    lines = []
    if row.nll is not None:
        metrics = [f"{measure_label(n)} {show_interval(each)}" for n, each in row.metrics.items()]
        lines = ["  ".join(result_parts(row)), *metrics, *seed_lines(row)]
    reasons = dict.fromkeys(each.reason for each in row.unfinished)
    lines += [f"{len(row.unfinished) or 1} without results: {reason}" for reason in reasons]
    return "\n    ".join([_setting(row), *lines])


def show_interval(interval: Interval) -> str:
    """Return a mean over seeds as text, with its confidence interval and the number of seeds."""
    if interval.low is None:
        return f"{interval.mean:.4f} (one seed)"
    if interval.low == interval.high:
        return f"{interval.mean:.4f} (the same with all {interval.n} seeds)"
    ends = show_range(*interval.ends, places=4)
    return f"{interval.mean:.4f} ({LEVEL:.0%} {ends}, {interval.n} seeds)"


def result_parts(row: Row) -> list[str]:
    """Return accuracy and loss of a row as text, each with the best possible value."""
    best, accuracy, nll = present(row.references).best, present(row.accuracy), present(row.nll)
    match = [] if row.exact_match is None else [f"exact match {show_interval(row.exact_match)}"]
    return [
        *match,
        f"accuracy {show_interval(accuracy)} of {known_value(best.accuracy, best.accuracy_stderr)}",
        f"loss {show_interval(nll)} nats of {known_value(best.nll, best.nll_stderr)}",
    ]


def seed_lines(row: Row) -> list[str]:
    """Return lines with the result of each seed, and with cautions about the interval."""
    if len(row.finished) < 2:
        return []
    figure = "accuracy" if row.exact_match is None else "exact_match"
    each = " ".join(f"{value:.4f}" for value in figures_of(row, figure).values())
    lines = [f"{FIGURE_NAMES[figure]} of each seed: {each}"]
    if (reached := row.reached) is not None:
        share = f"{reached.share.low:.0%} to {reached.share.high:.0%}"
        level = f"{reached.target:.0%} {'of targets' if row.exact_match else 'learned'}"
        lines.append(
            f"{reached.runs} of {reached.n} seeds reached {level} "
            f"({LEVEL:.0%} interval of that share: {share})"
        )
    doubts = [DOUBTS[name] for name in getattr(row, figure).doubts]
    return [*lines, *(f"caution: {words}" for words in doubts)]
