"""Files that come in, each dealt with once, whatever comes in between."""

import pytest
from streamlit.testing.v1 import AppTest


def _page():
    import streamlit as st

    from attnlab.ui.controls.uploads import draw_upload, take_upload

    taken = st.session_state.setdefault("taken", [])

    def take(file):
        taken.append(file and file.name)
        if st.session_state.get("busy") and taken.count("a.run") == 1:
            # As a request does that comes while the file is read.
            st.rerun()
        return file and (lambda: st.error(f"{file.name} is no run"))

    take_upload("file", take)
    if st.toggle("open", True, key="open"):
        draw_upload("A file", key="file", help="")


@pytest.fixture
def page():
    return AppTest.from_function(_page).run()


def _put(page, name):
    page.file_uploader(key="file").set_value((name, b"", "")).run()


def _told(page):
    assert not page.exception
    return [error.value for error in page.error]


def test_a_file_is_dealt_with_once(page):
    _put(page, "a.run")
    page.run()
    assert page.session_state["taken"] == ["a.run"]
    assert _told(page) == ["a.run is no run"]
    _put(page, "b.run")
    assert page.session_state["taken"] == ["a.run", "b.run"]
    assert _told(page) == ["b.run is no run"]


def test_a_request_while_a_file_is_read_loses_nothing(page):
    page.session_state["busy"] = True
    _put(page, "a.run")
    assert page.session_state["taken"] == ["a.run", "a.run"]
    assert _told(page) == ["a.run is no run"]


def test_a_file_that_is_taken_away_is_forgotten(page):
    _put(page, "a.run")
    page.file_uploader(key="file").set_value(None).run()
    page.run()
    assert page.session_state["taken"] == ["a.run", None]
    assert _told(page) == []


def test_a_control_that_comes_back_empty_takes_nothing_away(page):
    _put(page, "a.run")
    page.toggle(key="open").set_value(False).run()
    page.toggle(key="open").set_value(True).run()
    page.run()
    assert page.session_state["taken"] == ["a.run"]
    assert _told(page) == ["a.run is no run"]
