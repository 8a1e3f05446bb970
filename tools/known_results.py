"""Make the shipped runs of known results: `python -m tools.known_results [NAME …]`.

Writes `attnlab/known_results/shipped.json` after every result; results that are not named keep
their numbers. Runs that the library has are not trained again; `ATTNLAB_LIBRARY` names its folder.
"""

import argparse
import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path

from attnlab import known_results
from attnlab.comparisons.many import run_all
from attnlab.known_results import KNOWN_RESULTS, blog_post
from attnlab.known_results.entry import KnownResult
from attnlab.known_results.shipped import FILE
from attnlab.runs.library import Library, library_folder
from tools.published import made

_PATH = Path(known_results.__file__).with_name(FILE)
_DIGITS = 5


def main(names: Sequence[str]) -> None:
    """Train the runs of the named results, or of all, and write their numbers."""
    records = json.loads(_PATH.read_text("utf-8")) if _PATH.exists() else {}
    library = Library(library_folder(os.environ))
    for known in KNOWN_RESULTS.values():
        # Its runs are in `published.json`.
        if known is blog_post.RESULT or (names and known.name not in names):
            continue
        records[known.name] = _record(known, library)
        ordered = {name: records[name] for name in KNOWN_RESULTS if name in records}
        lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in ordered.items())
        _PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    library.close()


def _record(known: KnownResult, library: Library) -> dict:
    results = []
    runs = known.runs(known.seeds)
    for result in run_all(runs, library=library, **known.recording):
        results.append(result)
        print(f"{known.name}: run {len(results)} of {len(runs)} {result.state}", flush=True)
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
    return {"made": dataclasses.asdict(made("one core")), "numbers": numbers}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these results")
    main(parser.parse_args().names)
