"""Every page draws without an error, before a run and after one."""

from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
# Its file keeps the address that people have.
_RENAMED = {"words": "Glossary"}
_PAGES = sorted(path.relative_to(_ROOT).as_posix() for path in (_ROOT / "pages").glob("*.py"))


def _assert_draws(app, page: str) -> None:
    app.switch_page(page).run()
    assert not app.exception
    assert not app.error
    name = Path(page).stem
    title = _RENAMED.get(name, name.capitalize().replace("_", " "))
    assert [drawn.value for drawn in app.title] == [title]


@pytest.mark.parametrize("page", _PAGES)
def test_page_before_a_run(app, page):
    _assert_draws(app, page)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["attention", "linear"])
def test_pages_after_a_run(app, model):
    app.selectbox(key="model").select(model).run()
    app.number_input(key="steps").set_value(20).run()
    app.button(key="run_start").click().run()
    run = app.session_state["live_run"]
    assert run.wait(120.0)
    assert run.snapshot().state == "done"
    for page in (*_PAGES, *_PAGES):
        _assert_draws(app, page)
    assert app.session_state["live_run"] is run
