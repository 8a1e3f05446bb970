"""Many visitors of one server, some training and the rest clicking.

`python -m benchmarks.load [--minutes 5] [--visitors 20]` prints exceptions, lost sessions and the
time of the page scripts: wall time on the server of each full run of a page, as its log has it.
The browser runs on the same machine and takes its share of it.
"""

import argparse
import random
import statistics
import time
from contextlib import suppress

from playwright.sync_api import Error

from benchmarks.visitors import Visitor, script_seconds, server_and_browser

_VISITORS, _TRAINING = 20, 4
_STEPS = 100_000
_PAGES = ("Train", "Look inside", "Processes", "Glossary")
_FIRST_SEED = 1_000


def _click(visitor: Visitor, chance: random.Random) -> None:
    """Go somewhere else, or move a control where there is one."""
    visitor.go_to(chance.choice(_PAGES))
    sliders = visitor.page.get_by_role("slider")
    if sliders.count():
        sliders.first.press(chance.choice(("ArrowLeft", "ArrowRight")))
        visitor.page.wait_for_timeout(100)


def _has_its_session(visitor: Visitor, seed: int) -> bool:
    """Whether the session is still the one that was given this seed."""
    with suppress(Error):
        visitor.go_to("Train")
        visitor.train.part("run_status").wait_for()
        return visitor.train.field("seed").input_value() == str(seed)
    return False


def main() -> None:
    """Open all tabs, click until the time is over, and print what happened."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5)")
    parser.add_argument(
        "--visitors", type=int, default=_VISITORS, help=f"sessions (default {_VISITORS})"
    )
    arguments = parser.parse_args()
    minutes = arguments.minutes
    chance = random.Random(0)
    with server_and_browser() as (server, browser):
        visitors = []
        for number in range(arguments.visitors):
            visitors.append(Visitor(browser, server.url))
            visitors[-1].train.part("run_status").wait_for()
            visitors[-1].train.fill("seed", _FIRST_SEED + number)
        training, clicking = visitors[:_TRAINING], visitors[_TRAINING:]
        for visitor in training:
            visitor.train.fill("steps", _STEPS)
            visitor.train.press("start")
        print(f"{len(visitors)} sessions are open, {len(training)} of them train", flush=True)

        seen, clicks, unanswered, restarts = len(script_seconds(server)), 0, 0, 0
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            try:
                _click(chance.choice(clicking), chance)
                clicks += 1
            except Error:
                unanswered += 1
            for visitor in training:
                if "done" in visitor.train.part("run_status").inner_text():
                    visitor.train.press("reset")
                    visitor.train.wait_for("idle")
                    visitor.train.press("start")
                    restarts += 1
        times = sorted(script_seconds(server)[seen:])
        lost = sum(
            not _has_its_session(visitor, _FIRST_SEED + number)
            for number, visitor in enumerate(visitors)
        )
        exceptions = [text for visitor in visitors for text in visitor.exceptions()]
        exceptions += [text for visitor in visitors for text in visitor.errors]
        exceptions += server.failures()
        print(f"{clicks:,} clicks answered, {unanswered} not, within {minutes:g} minutes")
        print(f"{restarts} trainings ended and were started again")
        print(f"{len(exceptions)} exceptions, {lost} lost sessions")
        for text in exceptions[:5]:
            print(f"  {text}")
        if len(times) > 1:
            late = statistics.quantiles(times, n=20, method="inclusive")[-1]
            print(
                f"page script: median {statistics.median(times):.2f} s, 95th percentile "
                f"{late:.2f} s, longest {times[-1]:.2f} s, of {len(times):,} runs"
            )


if __name__ == "__main__":
    main()
