"""What a hosted server keeps of tabs that are closed.

`python -m benchmarks.closed_tabs [--tabs 10]` trains a run of other sizes in each of some tabs of
a real browser, closes them, waits until their sessions have run out, does the same once more, and
prints the server's memory on the way.
"""

import argparse
import time

from benchmarks.visitors import Visitor, server_and_browser
from tests.e2e.server import AppServer

# Streamlit forgets a session that has been away for two minutes; some seconds for what follows.
_RUNS_OUT_SECONDS = 140
_MEGA = 1e6


def _train_and_close(server: AppServer, browser, tabs: int) -> int:
    """Train in one tab after another, then close them all; the most memory meanwhile."""
    visitors, most = [], 0
    for number in range(tabs):
        query = f"?v=1&length={6 + number}&d_attn={4 + number}"
        visitors.append(Visitor(browser, server.url + "/" + query))
        visitors[-1].train.press("start")
        visitors[-1].train.wait_for("done")
        most = max(most, server.memory())
    for visitor in visitors:
        visitor.page.context.close()
    return most


def main() -> None:
    """Measure, and print a line for each moment."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closed_tabs", description=__doc__)
    parser.add_argument("--tabs", type=int, default=10, help="how many tabs (default 10)")
    tabs = parser.parse_args().tabs
    with server_and_browser({"ATTNLAB_HOSTED": "1"}) as (server, browser):
        first = Visitor(browser, server.url)
        first.train.wait_for("idle")
        print(f"before                {server.memory() / _MEGA:6.0f} MB")
        for turn in ("first", "second"):
            most = _train_and_close(server, browser, tabs)
            print(f"{turn} {tabs} tabs, most   {most / _MEGA:6.0f} MB", flush=True)
            time.sleep(_RUNS_OUT_SECONDS)
            print(f"sessions have run out {server.memory() / _MEGA:6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
