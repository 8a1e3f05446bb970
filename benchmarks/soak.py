"""One page that watches a run for a long time.

`python -m benchmarks.soak [--minutes 30]` prints the server's memory and the browser's heap every
ten seconds, the heap after a collection, and at the end by how much each grew after the first
five minutes (or, of a shorter soak, after its first sixth).
"""

import argparse
import time

from benchmarks.visitors import Visitor, server_and_browser

_EVERY = 10.0
_WARM_UP_MINUTES = 5.0
# Slow enough for minutes of it; it is started again when it ends.
_STEPS, _BATCH = 100_000, 1_000
_MEGA = 1e6
# Milliseconds: on a busy machine the compilation takes minutes.
_COMPILING = 600_000


def main() -> None:
    """Watch, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    minutes = parser.parse_args().minutes
    with server_and_browser() as (server, browser):
        visitor = Visitor(browser, server.url)
        train, browser_side = visitor.train, visitor.page.context.new_cdp_session(visitor.page)
        train.part("run_status").wait_for()
        train.fill("steps", _STEPS)
        train.fill("batch", _BATCH)
        train.press("start")
        train.part("run_status").get_by_text("running").wait_for(timeout=_COMPILING)
        began = time.monotonic()
        rows: list[tuple[float, float, float]] = []
        while not rows or rows[-1][0] < 60 * minutes:
            visitor.page.wait_for_timeout(1_000 * _EVERY)
            if "done" in train.part("run_status").inner_text():
                train.press("reset")
                train.wait_for("idle")
                train.press("start")
            browser_side.send("HeapProfiler.collectGarbage")
            heap = browser_side.send("Runtime.getHeapUsage")["usedSize"]
            rows.append((time.monotonic() - began, server.memory() / _MEGA, heap / _MEGA))
            seconds, memory, used = rows[-1]
            print(f"{seconds:6.0f} s   server {memory:7.1f} MB   heap {used:6.1f} MB", flush=True)
        warm_up = min(60 * _WARM_UP_MINUTES, 10 * minutes)
        base = next((row for row in rows if row[0] >= warm_up), rows[-1])
        for name, place in (("server", 1), ("heap", 2)):
            growth = 100 * (rows[-1][place] / base[place] - 1)
            print(
                f"{name}: {base[place]:.1f} MB after {base[0]:.0f} s, {rows[-1][place]:.1f} MB "
                f"after {rows[-1][0]:.0f} s: {growth:+.1f} %   target < 10 %"
            )
        print(f"{len(visitor.exceptions()) + len(visitor.errors) + len(server.failures())} errors")


if __name__ == "__main__":
    main()
