"""One page that watches a run for a long time.

`python -m benchmarks.soak [--minutes 30]` prints the server's memory and the browser's heap every
ten seconds, the heap after a collection, and at the end by how much the median of each grew from
the first five minutes to the last five (of a shorter soak, from its first sixth to its last).
"""

import argparse
import statistics
import time
from urllib.parse import urlencode

from benchmarks.visitors import Visitor, server_and_browser

_EVERY = 10.0
_WINDOW_MINUTES = 5.0
# So slow that it does not end: with the next run a browser draws its charts from the start.
_RUN = {"v": 1, "length": 48, "d_attn": 64, "batch": 1_000, "steps": 100_000}
_MEGA = 1e6
# Milliseconds: on a busy machine the compilation takes minutes.
_COMPILING = 600_000


def main() -> None:
    """Watch, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    minutes = parser.parse_args().minutes
    with server_and_browser() as (server, browser):
        visitor = Visitor(browser, f"{server.url}/?{urlencode(_RUN)}")
        train, browser_side = visitor.train, visitor.page.context.new_cdp_session(visitor.page)
        train.part("run_status").wait_for()
        train.press("start")
        train.part("run_status").get_by_text("running").wait_for(timeout=_COMPILING)
        began = time.monotonic()
        rows: list[tuple[float, float, float]] = []
        while not rows or rows[-1][0] < 60 * minutes:
            visitor.page.wait_for_timeout(1_000 * _EVERY)
            browser_side.send("HeapProfiler.collectGarbage")
            heap = browser_side.send("Runtime.getHeapUsage")["usedSize"]
            rows.append((time.monotonic() - began, server.memory() / _MEGA, heap / _MEGA))
            seconds, memory, used = rows[-1]
            print(f"{seconds:6.0f} s   server {memory:7.1f} MB   heap {used:6.1f} MB", flush=True)
            if (state := train.status().state) != "running":
                raise SystemExit(f"The run is {state}: nothing is drawn any more. Make it slower.")
        window = min(60 * _WINDOW_MINUTES, 10 * minutes)
        first = [row for row in rows if row[0] <= window]
        last = [row for row in rows if row[0] >= rows[-1][0] - window]
        for name, place in (("server", 1), ("heap", 2)):
            before, after = (
                statistics.median(row[place] for row in part) for part in (first, last)
            )
            print(
                f"{name}: {before:.1f} MB in the first {window:.0f} s, {after:.1f} MB in the last: "
                f"{100 * (after / before - 1):+.1f} %   target < 10 %"
            )
        print(f"steps made: {train.status().step:,}")
        print(f"{len(visitor.exceptions()) + len(visitor.errors) + len(server.failures())} errors")


if __name__ == "__main__":
    main()
