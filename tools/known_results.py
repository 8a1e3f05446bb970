"""Make the shipped runs of known results: `python -m tools.known_results [NAME …]`.

Writes numbers and minutes to `attnlab/known_results/shipped.json` after every result; results that
are not named keep theirs. All runs are trained one after another, as on the page. The minutes are
processor time, so that other programs do not count.
"""

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from attnlab import known_results
from attnlab.comparisons.many import run_all
from attnlab.known_results import KNOWN_RESULTS
from attnlab.known_results.entry import KnownResult, Plot
from attnlab.known_results.shipped import FILE
from tools.published import made

_PATH = Path(known_results.__file__).with_name(FILE)
_DIGITS = 5


def main(names: Sequence[str]) -> None:
    """Train the runs of the named results, or of all, and write their numbers."""
    records = json.loads(_PATH.read_text("utf-8")) if _PATH.exists() else {}
    for known in KNOWN_RESULTS.values():
        if names and known.name not in names:
            continue
        records[known.name] = _record(known)
        ordered = {name: records[name] for name in KNOWN_RESULTS if name in records}
        lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in ordered.items())
        _PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _record(known: KnownResult) -> dict:
    results, began = [], time.process_time()
    runs = known.runs(known.seeds)
    for result in run_all(runs, **known.recording):
        results.append(result)
        print(f"{known.name}: run {len(results)} of {len(runs)} {result.state}", flush=True)
    minutes = round((time.process_time() - began) / 60, 1)
    numbers = {
        setting: {
            measure: {seed: round(number, _DIGITS) for seed, number in sorted(each.items())}
            for measure, each in of.items()
            if each
        }
        for setting, of in known.numbers_of(results).items()
    }
    for verdict in known.verdicts(numbers):
        print(f"{verdict.says}: {verdict.check.claim} {[*verdict.numbers.values()]}", flush=True)
    when = dataclasses.asdict(made(f"{os.cpu_count()} cores"))
    record = {"made": when, "minutes": minutes, "numbers": numbers}
    first = next(each for each in results if each.experiment == runs[0])
    plots = [_rounded(plot) for plot in known.plots(first)]
    return record | ({"plots": plots} if plots else {})


def _rounded(plot: Plot) -> dict:
    points = [(name, round(x, _DIGITS), round(y, _DIGITS)) for name, x, y in plot.points]
    return plot._asdict() | {"points": points}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these results")
    main(parser.parse_args().names)
