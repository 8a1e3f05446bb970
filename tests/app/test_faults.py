"""Pages show the errors of attnlab itself as messages, and any other error as a fault."""

import pytest
from streamlit.testing.v1 import AppTest


def _page():
    import time

    import streamlit as st

    from attnlab.configuration.options import OptionError
    from attnlab.ui.core.figures import begin_figures, figure
    from attnlab.ui.core.session import session
    from attnlab.ui.core.web import show_error

    def broken(kind):
        if kind == "own":
            raise OptionError("k", 9, "too many tokens", "Choose fewer")
        raise ValueError("cannot reshape array of size 0")

    begin_figures()
    session().deadline = time.monotonic() + 60
    try:
        figure(broken, st.query_params["error"])
    except ValueError as error:
        show_error(error)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("own", "`k` is 9: too many tokens. Choose fewer."),
        ("internal", "report it with the server"),
    ],
)
def test_only_errors_of_attnlab_are_messages(error, shown):
    page = AppTest.from_function(_page)
    page.query_params["error"] = error
    page.run()
    (found,) = [each.value for each in page.error]
    assert shown in found
    assert "reshape" not in found
