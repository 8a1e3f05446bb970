"""Every page draws without an error, before a run and after one."""

import pytest

from tests.pages import PAGES, title_of


def _assert_draws(app, page: str) -> None:
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert not app.error
    assert [drawn.value for drawn in app.title] == [title_of(page)]


@pytest.mark.parametrize("page", PAGES)
def test_page_before_a_run(app, page):
    _assert_draws(app, page)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["attention", "linear"])
def test_pages_after_a_run(app, model):
    app.selectbox(key="model").select(model).run()
    app.number_input(key="steps").set_value(20).run()
    app.button(key="run_start").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    assert run.snapshot().state == "done"
    for page in (*PAGES, PAGES[0]):
        _assert_draws(app, page)
    assert app.session_state["session"].run is run
