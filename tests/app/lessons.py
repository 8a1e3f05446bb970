"""What the tests of the lesson pages share."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

from streamlit.testing.v1 import AppTest

from attnlab.live.jobs import Job

# Work that obeys stops between two items, which are quick in tests.
STOP_PATIENCE = 30.0
_APP = Path(__file__).resolve().parents[2] / "app.py"


def open_page(name: str, parameters: Mapping[str, str] = MappingProxyType({})) -> AppTest:
    """A lesson within the app, drawn once, at an address with these parameters."""
    app = AppTest.from_file(_APP, default_timeout=120).run()
    for key, text in parameters.items():
        app.query_params[key] = text
    app.switch_page(name).run()
    assert not app.exception
    return app


def charts(page: AppTest) -> list[dict]:
    """The specifications of all charts."""
    return [json.loads(chart.proto.spec) for chart in page.get("vega_lite_chart")]


def film(page: AppTest) -> dict[str, Any]:
    """What the player of the page's film draws."""
    (found,) = page.get("bidi_component")
    return json.loads(found.proto.json)


def figures(page: AppTest) -> dict[str, str]:
    """The numbers with a label."""
    return {metric.label: metric.value for metric in page.metric}


def texts(page: AppTest) -> str:
    """All running text."""
    return "\n".join(text.value for text in page.markdown)


def latex(page: AppTest) -> str:
    """All formulas."""
    return "\n".join(formula.value for formula in page.latex)


def alts(page: AppTest) -> list[str]:
    """The text alternatives of all charts."""
    return [chart.proto.alt for chart in page.get("vega_lite_chart")]


def code(page: AppTest) -> str:
    """What “In code” shows when it is opened."""
    page.session_state["in_code"] = True
    page.run()
    assert not page.exception
    return page.code[-1].value


def first_item(work: Job) -> Any:
    """What long work has come to first, waited for."""
    for _ in range(30_000):
        if (latest := work.state().latest) is not None:
            return latest
        time.sleep(0.001)
    raise AssertionError("There is nothing to see of it.")


@contextmanager
def endless(monkeypatch, place: str, item: Any) -> Iterator[None]:
    """Long work at `place` gives `item` again and again, and ends by nothing but being stopped.

    When the test is over it ends by itself, so that a Stop that fails leaves no thread behind.
    """
    over = Event()

    def work(*_, **__):
        while not over.wait(0.001):
            yield item

    monkeypatch.setattr(place, work)
    try:
        yield
    finally:
        over.set()
