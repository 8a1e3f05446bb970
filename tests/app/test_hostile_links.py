"""Every parameter of every page with hostile values.

The parameters are found by drawing the pages, so that a new one is covered without a line here.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.configuration.options import options_of
from attnlab.runs.links import LINK_VERSION, control_key, from_query, is_link
from attnlab.runs.option_texts import experiment_parts
from tests.pages import ADDRESSES

pytestmark = pytest.mark.slow

_APP = Path(__file__).resolve().parents[2] / "app.py"
_HOSTILE = (
    "",
    "inf",
    "nan",
    "-1e999",
    "\0",
    "9" * 10_000,
    "-1",
    "1.5",
    "🔬",
    "<b>**x**</b>](http://example.com)",
    "None",
)
# Of how many texts each control of a page sees one.
_STRIDE = 6
_OPTIONS = {
    control_key(part, name): name for part in experiment_parts() for name in options_of(part)
}
# Of a link to settings, to a comparison and to a hand.
_SETTINGS = (
    *_OPTIONS,
    *("title", "text", "hide", "show", "seeds", "source"),
    *(f"vary_{name}" for name in dict.fromkeys(("preset", *_OPTIONS.values()))),
)


def _opened(page: str, parameters: Mapping[str, str]) -> AppTest:
    app = AppTest.from_file(_APP, default_timeout=120)
    app.query_params.update(parameters)
    return app.switch_page(f"pages/{page}.py").run()


def _spread(keys: Iterable[str], first: int) -> dict[str, str]:
    """A hostile text for each key: each has another one than its neighbours."""
    return {key: _HOSTILE[(first + place) % len(_HOSTILE)] for place, key in enumerate(keys)}


def _bound(app: AppTest) -> dict[str, tuple[str, ...]]:
    """The parameters of the controls that are drawn, and their choices where they are few."""

    def walk(block) -> Iterator[tuple[str, tuple[str, ...]]]:
        for child in getattr(block, "children", {}).values():
            proto = getattr(child, "proto", None)
            if key := getattr(proto, "query_param_key", ""):
                choices = getattr(proto, "options", ())
                yield key, tuple(getattr(each, "content", each) for each in choices)
            yield from walk(child)

    return dict(walk(app._tree))


def _ways_to_draw(page: str) -> dict[str, dict[str, str]]:
    """Parameters that a page has, each with those that must be set for it to be drawn."""
    at_first = _bound(_opened(page, {}))
    ways = {key: {} for key in at_first}
    for key, choices in at_first.items():
        for choice in choices if len(choices) <= 12 else ():
            for further in _bound(_opened(page, {key: choice})):
                ways.setdefault(further, {key: choice})
    return ways


@pytest.mark.parametrize("page", ADDRESSES)
def test_no_parameter_of_a_page_breaks_it(page):
    ways = _ways_to_draw(page)
    assert ways or page not in ("step_by_step", "the_bottleneck")
    # An address with controls of the page alone is no link to settings.
    assert not is_link(dict.fromkeys(ways, ""))
    for needed in {tuple(needed.items()) for needed in ways.values()}:
        drawn = [key for key, way in ways.items() if tuple(way.items()) == needed]
        for first in range(0, len(_HOSTILE), _STRIDE):
            asked = _spread(drawn, first)
            app = _opened(page, asked | dict(needed))
            assert not app.exception, (asked, needed, app.exception[0].stack_trace)
            assert len(app.title) == 1
    if ways:
        # The last of them once more, since a control may refuse its value at the next rerun.
        assert not app.run().exception, (asked, needed)


@pytest.mark.parametrize("page", ADDRESSES)
def test_no_link_to_settings_breaks_a_page(page):
    # Each page has other texts for the same settings.
    app = _opened(page, {"v": LINK_VERSION} | _spread(_SETTINGS, ADDRESSES.index(page)))
    assert not app.exception, app.exception[0].stack_trace
    assert len(app.title) == 1
    # The notice names what is wrong and fits on a screen.
    assert all(len(warning.value) < 5_000 for warning in app.warning)


def test_no_setting_of_a_link_breaks_it():
    for key, text in itertools.product(_SETTINGS, _HOSTILE):
        notices = from_query({"v": LINK_VERSION, key: text}).notices
        assert all(len(notice) < 400 for notice in notices), (key, text)


def test_a_link_with_a_thousand_faults_names_some_and_counts_the_others():
    hidden = ",".join(f"k{number}" for number in range(1_600))
    app = AppTest.from_file(_APP, default_timeout=120)
    app.query_params.update({"v": LINK_VERSION, "hide": hidden})
    (warning,) = app.run().warning
    assert warning.value.count("not a control here") == 10
    assert "1,590 more parts have problems" in warning.value
