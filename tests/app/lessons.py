"""What the tests of the lesson pages share."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from streamlit.testing.v1 import AppTest

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


def figures(page: AppTest) -> dict[str, str]:
    """The numbers with a label."""
    return {metric.label: metric.value for metric in page.metric}


def texts(page: AppTest) -> str:
    """All running text."""
    return "\n".join(text.value for text in page.markdown)


def code(page: AppTest) -> str:
    """What “In code” shows when it is opened."""
    page.session_state["in_code"] = True
    page.run()
    assert not page.exception
    return page.code[-1].value
