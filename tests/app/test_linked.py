"""Controls that stand in the address: good values, bad ones, and changes afterwards."""

import pytest
from streamlit.testing.v1 import AppTest


def _page():
    import streamlit as st

    from attnlab.ui.controls.address_controls import linked

    linked(st.slider, "rows", 1, 9, 4, key="rows")
    linked(st.number_input, "base", 2.0, 100.0, 10.0, key="base")
    linked(st.selectbox, "kind", ["one", "two"], key="kind")
    linked(st.toggle, "on", key="on")


def _opened(**parameters) -> AppTest:
    page = AppTest.from_function(_page, default_timeout=30)
    for name, text in parameters.items():
        page.query_params[name] = text
    page.run()
    assert not page.exception
    return page


def _values(page) -> dict:
    return {key: page.session_state[key] for key in ("rows", "base", "kind", "on")}


_DEFAULTS = {"rows": 4, "base": 10.0, "kind": "one", "on": False}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [("rows", "7", 7), ("rows", "4", 4), ("base", "2.5", 2.5), ("base", "10", 10.0),
     ("kind", "two", "two"), ("kind", "one", "one"), ("on", "true", True), ("on", "False", False)],
)  # fmt: skip
def test_a_good_value_is_taken(key, text, value):
    page = _opened(**{key: text})
    assert _values(page) == {**_DEFAULTS, key: value}
    assert not page.warning


@pytest.mark.parametrize(
    ("key", "text"),
    [("rows", "abc"), ("rows", "10"), ("rows", "nan"), ("rows", "1e999"), ("rows", ""),
     ("base", "-1"), ("base", "inf"), ("base", "x" * 500), ("kind", "three"), ("on", "maybe")],
)  # fmt: skip
def test_a_bad_value_leaves_the_default_and_is_told(key, text):
    page = _opened(**{key: text})
    assert _values(page) == _DEFAULTS
    (warning,) = page.warning
    assert f"`{key}`" in warning.value
    assert len(warning.value) < 200


def test_the_notice_goes_when_the_control_is_changed():
    page = _opened(rows="abc")
    page.toggle(key="on").set_value(True).run()
    assert len(page.warning) == 1
    page.slider(key="rows").set_value(5).run()
    assert not page.warning
    page.slider(key="rows").set_value(4).run()
    assert not page.warning


def test_a_change_after_a_good_value_is_no_fault():
    page = _opened(rows="7")
    page.slider(key="rows").set_value(2).run()
    assert _values(page)["rows"] == 2
    assert not page.warning
