"""The most that one visitor can ask of each page of a hosted server.

`python -m benchmarks.worst_case [--cap 300] [PAGE…]` opens every page in a real browser by a link
to the slowest settings that are allowed, each on a server that was just started, and prints the
seconds until the page stands and until its last figure is there, and the megabytes of memory that
the server took beyond what it had before. The browser runs on the same machine.

`python -m benchmarks.worst_case --sessions 20` opens so many sessions of one server, without a
browser. In turn they compare a hundred of the largest models, train the largest one, and ask for
the numbers of the largest process. All stay open until the last has had its turn. It prints the
server's memory on the way, and after all have left.
"""

import argparse
import dataclasses
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Page

from attnlab.configuration.number_text import show_matrix
from attnlab.generators import DotMod, HiddenMarkov, NDays
from attnlab.models import AbstractModelOptions, AttentionOptions, TransformerOptions
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.limits import HOSTED, check_limits, work
from attnlab.training.steps import Training
from benchmarks.raw_visitor import RawVisitor
from benchmarks.visitors import Visitor, server_and_browser
from tests.e2e.server import AppServer
from tests.e2e.train_page import go_to

_HOSTED = {"ATTNLAB_HOSTED": "1"}
# As the container of 2 GB in docs/hosting.md.
_CONTAINER = _HOSTED | {"ATTNLAB_TRAININGS": "1", "ATTNLAB_MEMORY": "2000", "MALLOC_ARENA_MAX": "2"}
_TURN_SECONDS, _FORGOTTEN_SECONDS = 125.0, 160.0
_MEGA = 1e6
_POLL_MILLISECONDS = 100
# Longer than the pause between two questions that a page asks itself.
_CALM_SECONDS = 2.0
# What shows that a page is not finished: parts that are there, and words in parts of it.
_WORKING_PARTS = '[data-testid="stStatusWidget"], [data-testid="stSkeleton"], [data-stale="true"]'
_WORKING_WORDS: Mapping[str, re.Pattern] = {
    '[data-testid="stMain"]': re.compile(r"\bhourglass_top\b"),
    '[class*="_status"]': re.compile(r"\b(running|waiting|compiling)\b"),
    '[data-testid="stProgress"]': re.compile(r"\b(running|waiting)\b"),
}
_WORKING = r'text: "(running|waiting)|badge[^\n]*(running|waiting|compiling)|hourglass_top'
_SCRIPT_ENDED = '[data-testid="stApp"][data-test-script-state="notRunning"]'


@dataclasses.dataclass(frozen=True)
class Ask:
    """What is asked of a page: the link it is opened by, and what is done before or on it."""

    page: str
    what: str
    path: str
    query: Mapping[str, object]
    act: Callable[[Page], None] | None = None
    # A page that shows the run of the session is opened from the menu, when the run is done.
    after_training: bool = False


def _largest_head() -> AttentionOptions:
    caps = HOSTED.caps
    return AttentionOptions(d_attn=caps["d_attn"], embedding="learned", d_model=caps["d_model"])


def _largest_stack() -> TransformerOptions:
    sizes = ("layers", "heads", "d_attn", "d_model", "mlp_width")
    return TransformerOptions(**{name: HOSTED.caps[name] for name in sizes})


def _slowest_experiment(
    generator, steps: int | None = None, model: AbstractModelOptions | None = None
) -> Experiment:
    """Every size at its cap, and as large a batch and as many steps as these sizes are given."""
    caps = HOSTED.caps
    largest = Experiment(
        generator=generator,
        length=caps["length"],
        model=model or _largest_head(),
        training=Training(
            loss="next",
            batch=caps["batch"],
            steps=1,
            data="fresh",
            train_size=caps["train_size"],
            test_size=caps["test_size"],
        ),
    )
    batch = min(caps["batch"], int(caps["batch"] * HOSTED.step_work / work(largest)))
    largest = dataclasses.replace(
        largest, training=dataclasses.replace(largest.training, batch=batch)
    )
    steps = steps or min(caps["steps"], int(HOSTED.work / work(largest)))
    experiment = dataclasses.replace(
        largest, training=dataclasses.replace(largest.training, steps=steps)
    )
    check_limits(experiment, HOSTED)
    return experiment


def _hidden() -> HiddenMarkov:
    states = range(6)
    return HiddenMarkov(
        initial=(1 / 6,) * 6,
        moving=tuple(tuple(0.7 if there == here else 0.06 for there in states) for here in states),
        showing=tuple((0.5, 0.3, 0.2) if state % 2 else (0.1, 0.3, 0.6) for state in states),
    )


def _matrix(rows: int, columns: int) -> str:
    return show_matrix(np.arange(rows * columns).reshape(rows, columns) % 7 - 3)


def _points(most: int) -> str:
    return "\n".join(f"{number / 10:g} {number % 7}" for number in range(500))[:most]


def _press(key: str) -> Callable[[Page], None]:
    return lambda page: page.locator(f".st-key-{key}").get_by_role("button").first.click()


def _asks() -> Iterator[Ask]:
    slow_stream = DotMod(variant="published", n=12, noise=0.01)
    processes = {
        "dotmod, n = 12, noise 0.01": slow_stream,
        "hmm, 6 states": _hidden(),
        "ndays, n = 15": NDays(n=15),
    }
    for what, generator in processes.items():
        query = to_query(Experiment(generator=generator, length=HOSTED.caps["length"]))
        yield Ask("Processes", f"{what}, {HOSTED.caps['length']} days", "generators", query)
    for what, generator in processes.items():
        query = to_query(_slowest_experiment(generator))
        yield Ask("Train", f"{what}, all sizes at their caps", "", query, _press("run_start"))
    stack = _largest_stack()
    query = to_query(_slowest_experiment(slow_stream, model=stack))
    yield Ask("Train", "the largest transformer, dotmod", "", query, _press("run_start"))
    for what, generator in processes.items():
        query = to_query(_slowest_experiment(generator, steps=20))
        yield Ask("Look inside", f"{what}, all sizes at their caps", "", query, after_training=True)
    query = to_query(_slowest_experiment(slow_stream, steps=20, model=stack))
    yield Ask("Look inside", "the largest transformer, dotmod", "", query, after_training=True)
    tables = {
        **{f"step_{name}": _matrix(8, 8) for name in ("inputs", "asking")},
        **{f"step_w_{name}": _matrix(8, 16) for name in ("query", "key", "value")},
        **{f"step_b_{name}": _matrix(1, 16) for name in ("query", "key", "value")},
    }
    switches = {"step_bias": "true", "step_cross": "true", "step_stage": "all"}
    yield Ask("Step by step", "8 × 16 tables, all stages", "step_by_step", tables | switches)
    encodings = {"pe_length": 64, "pe_width": 32, "pe_a": "sinusoidal", "pe_b": "learned"}
    for view in ("curves", "similarity"):
        query = encodings | {"pe_view": view, "pe_trained": 1}
        yield Ask("Positional encodings", f"64 × 32, {view}", "positional_encodings", query)
    scaling = {"width": 128, "component": 2.0, "keys": 32, "sweep_process": "dotmod"}
    # The most that the caps leave of them.
    sweep = {"sweep_steps": 400, "sweep_seeds": 3}
    what = "3 seeds of 400 steps"
    yield Ask("Softmax scaling", what, "softmax_scaling", scaling | sweep, _press("sweep_start"))
    kernel = {"curve": "own points", "own_points": _points(2_000), "plane": "slanted"}
    what = "own points of 2,000 letters, learned kernel"
    yield Ask(
        "Kernel regression", what, "kernel_regression", kernel, _press("metric_training_start")
    )
    costs = {"cost_d_attn": 64, "cost_longest": 2048, "cost_passes": "forward and gradient"}
    press = _press("attention_cost_start")
    yield Ask("What attention costs", "2,048, gradient", "what_attention_costs", costs, press)
    costs = {"cost_layers": 4, "cost_generated": 256}
    press = _press("generation_cost_start")
    what = "4 layers, 256 tokens generated"
    yield Ask("What attention costs", what, "what_attention_costs", costs, press)
    yield Ask("Glossary", "", "words", {})


class _Watch:
    """A page and its server: what time it is, and the most memory so far."""

    def __init__(self, page: Page, server: AppServer, cap: float):
        self._page, self._server, self._cap = page, server, cap
        self._before = self.most = server.memory()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def megabytes(self) -> float:
        """The most memory, above that of the beginning."""
        return (self.most - self._before) / _MEGA

    def until(self, over: Callable[[], bool], *, calm: float = 0.0) -> float | None:
        """Seconds until it was over and stayed so for `calm` of them, or None at the cap."""
        since = None
        while self.seconds < self._cap:
            self.most = max(self.most, self._server.memory())
            now = self.seconds
            since = None if not over() else now if since is None else since
            if since is not None and self.seconds - since >= calm:
                return since
            self._page.wait_for_timeout(_POLL_MILLISECONDS)
        return None


def _stands(page: Page) -> bool:
    return page.locator(_SCRIPT_ENDED).count() > 0 and page.locator("h1").count() > 0


def _at_rest(page: Page) -> bool:
    if page.locator(_WORKING_PARTS).count():
        return False
    return not any(
        words.search(text)
        for part, words in _WORKING_WORDS.items()
        for text in page.locator(part).all_inner_texts()
    )


def _measured(ask: Ask, cap: float) -> str:
    with server_and_browser(_HOSTED) as (server, browser):
        visitor = Visitor(browser, f"{server.url}/words")
        page = visitor.page
        # Until the server has made ready what it makes for everybody.
        warm = _Watch(page, server, cap)
        warm.until(lambda: _stands(page) and not _is_growing(server, page), calm=_CALM_SECONDS)
        address = f"{server.url}/{ask.path}?{urlencode(ask.query)}"
        if ask.after_training:
            page.goto(address)
            visitor.train.press("start")
            # The evaluations of the largest take longer than a turn; what is inside is as large.
            _Watch(page, server, cap).until(
                lambda: re.search(r"\b(done|paused)\b", _text(page, "run_status")) is not None
            )
        watch = _Watch(page, server, cap)
        if ask.after_training:
            go_to(page, ask.page)
        else:
            page.goto(address)
        stands = watch.until(lambda: _stands(page))
        if ask.act is not None and stands is not None:
            ask.act(page)
            # So that what was pressed is under way before the test asks whether it is over.
            page.wait_for_timeout(1_000)
        last = watch.until(lambda: _stands(page) and _at_rest(page), calm=_CALM_SECONDS)
        errors = len(visitor.exceptions()) + len(visitor.errors) + len(server.failures())
        # Settings that the page does not take would be another question than was meant.
        errors += page.get_by_text("The address asks for").count()
        return (
            f"{ask.page:21} {ask.what:52} {_seconds(stands, cap)} {_seconds(last, cap)} "
            f"{watch.megabytes:8.0f} MB" + (f"   {errors} errors" if errors else "")
        )


def _worst_of_sessions() -> list[tuple[str, str, Mapping[str, object], str]]:
    """What sessions ask in turn: in words, the page, the settings and the button that begins it."""
    stack = _largest_stack()
    small = Training(batch=1, steps=1, train_size=100, test_size=100)
    many = Experiment(model=stack, length=HOSTED.caps["length"], training=small)
    compared = {**to_query(many), "seeds": int(HOSTED.runs), "vary_length": many.length}
    trained = to_query(_slowest_experiment(DotMod(n=12, noise=0.01), model=stack))
    figures = to_query(Experiment(generator=NDays(n=15), length=HOSTED.caps["length"]))
    return [
        ("compares", "compare", compared, "compare_start"),
        ("trains", "", trained, "run_start"),
        ("asks for figures", "generators", figures, ""),
    ]


def _many_sessions(number: int) -> None:
    with TemporaryDirectory() as folder:
        server = AppServer(Path(folder) / "log", _CONTAINER)
        server.start()
        try:
            visitors = [RawVisitor(server.url, "words", {})]
            _highest(server, visitors, 30.0)
            print(f"{'before':24} {server.memory() / _MEGA:6.0f} MB", flush=True)
            for place in range(number):
                what, page, query, button = _worst_of_sessions()[place % 3]
                visitors.append(RawVisitor(server.url, page, query))
                if button:
                    visitors[-1].press(button)
                most = _highest(server, visitors[-1:], _TURN_SECONDS)
                now = server.memory() / _MEGA
                print(f"{place + 1:3} {what:20} {now:6.0f} MB, at most {most:6.0f} MB", flush=True)
            for visitor in visitors:
                visitor.leave()
            _highest(server, [], _FORGOTTEN_SECONDS)
            print(f"{'all have left':24} {server.memory() / _MEGA:6.0f} MB")
        finally:
            server.stop()


def _highest(server: AppServer, watching: list[RawVisitor], seconds: float) -> float:
    """The most megabytes until those who watch see no more work, for so many seconds at most."""
    most, end, look = 0.0, time.monotonic() + seconds, time.monotonic() + 5.0
    while time.monotonic() < end:
        most = max(most, server.memory() / _MEGA)
        time.sleep(0.1)
        if watching and time.monotonic() > look:
            look = time.monotonic() + 5.0
            for visitor in watching:
                visitor.look()
            if not any(re.search(_WORKING, visitor.text) for visitor in watching):
                break
    return most


def _is_growing(server: AppServer, page: Page) -> bool:
    before = server.memory(), server.processor_seconds()
    page.wait_for_timeout(500)
    return server.memory() > before[0] + _MEGA or server.processor_seconds() > before[1] + 0.25


def _text(page: Page, key: str) -> str:
    return " ".join(page.locator(f".st-key-{key}").all_inner_texts())


def _seconds(value: float | None, cap: float) -> str:
    return f"more than {cap:.0f} s" if value is None else f"{value:13.1f} s"


def main() -> None:
    """Ask everything of every page, or of the chosen ones, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worst_case", description=__doc__)
    parser.add_argument("--cap", type=float, default=300.0, help="seconds a page (default 300)")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="their titles; all by default")
    parser.add_argument("--sessions", type=int, help="open so many at once, without a browser")
    arguments = parser.parse_args()
    if arguments.sessions:
        _many_sessions(arguments.sessions)
        return
    titles = {ask.page for ask in _asks()}
    if unknown := set(arguments.pages) - titles:
        parser.error(f"no page {', '.join(unknown)}. Choose of: {', '.join(sorted(titles))}.")
    print(f"{'page':21} {'asked':52} {'stands after':>15} {'last figure':>15} {'memory':>11}")
    for ask in _asks():
        if not arguments.pages or ask.page in arguments.pages:
            print(_measured(ask, arguments.cap), flush=True)


if __name__ == "__main__":
    main()
