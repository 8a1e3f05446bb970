"""The page Library and what the Train page takes from the library."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnlab.generators import HiddenMarkov
from attnlab.live.progress import Autosave
from attnlab.runs.library import Library, Query
from attnlab.runs.links import LINK_VERSION, to_query
from attnlab.runs.storage import to_bytes
from attnlab.ui.core.server import work_queue
from attnlab.ui.library import table
from attnlab.ui.library.transfer import take_in_file
from tests.app.conftest import APP
from tests.unit.kept_results import result_of, run_of
from tests.unit.small_experiments import SMALL_LINEAR
from tests.unit.test_hostile_fields import HOSTILE, RECORD
from tests.unit.test_library_file import joined

_PAGE = "pages/library.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Of the library of the user of these pages."""
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "library"))
    return tmp_path / "library"


@pytest.fixture
def library(folder):
    """The same, opened as another program does."""
    return Library(folder)


@pytest.fixture
def page():
    """Draws the page Library in a session, a new one without any."""
    apps = []

    def draw(app=None):
        if app is None:
            app = AppTest.from_file(APP, default_timeout=60)
            app.query_params["v"] = LINK_VERSION
            apps.append(app.run())
        app.switch_page(_PAGE).run()
        assert not app.exception
        return app

    yield draw
    for app in apps:
        app.session_state["session"].run.pause()
        assert app.session_state["session"].run.wait(120.0)


def _names(app):
    return list(app.dataframe[0].value["name"]) if app.dataframe else []


def _tick(app, *numbers):
    app.session_state["library_ticked"] = numbers
    app.run()
    assert not app.exception


def _words(app):
    return "\n".join(part.value for part in (*app.caption, *app.info, *app.markdown))


def test_an_empty_library_says_how_runs_come_to_it(folder, page):
    app = page()
    assert "Press Start on the Train page" in _words(app)
    assert "0 runs · 0 in the bin" in _words(app)
    assert not app.error


@pytest.mark.slow
def test_a_run_that_was_trained_is_listed(folder, app, page):
    app.selectbox(key="model").select("linear").run()
    app.number_input(key="steps").set_value(6).run()
    app.button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    row = page(app).dataframe[0].value.iloc[0]
    assert (row["name"], row["model"]) == ("linear", "linear")
    assert (row["state"], row["steps"]) == ("done", 6)
    assert "±" in row["loss (nats)"]


def test_a_run_that_an_open_page_trains_is_not_shown_as_interrupted(library, page, monkeypatch):
    for seed in (1, 2):
        library.keep(result_of(state="interrupted", seed=seed))
    app = page()
    assert list(app.dataframe[0].value["state"]) == ["interrupted"] * 2
    kept, snapshot = Autosave(kept=library.entry(1)), SimpleNamespace(active=True)
    run = SimpleNamespace(autosave=kept, snapshot=lambda: snapshot)
    monkeypatch.setattr(table, "open_sessions", lambda: SimpleNamespace(runs=lambda: [run]))
    shown = page(app).dataframe[0].value
    assert dict(zip(shown["number"], shown["state"], strict=True)) == {
        1: "training", 2: "interrupted",
    }  # fmt: skip
    snapshot.active = False
    assert list(page(app).dataframe[0].value["state"]) == ["interrupted"] * 2


@pytest.mark.slow
def test_filters_sort_and_pages(library, page):
    for seed in range(30):
        library.keep(result_of(seed=seed, steps=seed), name=f"seed {seed}",
                     tags=("even",) * (seed % 2 == 0))  # fmt: skip
    app = page()
    assert len(_names(app)) == 25
    app.session_state["library_page"] = 2
    app.run()
    assert _names(app) == [f"seed {seed}" for seed in range(4, -1, -1)]
    app.selectbox(key="library_tag").select("even").run()
    assert _names(app) == [f"seed {seed}" for seed in range(28, -1, -2)]
    app.selectbox(key="library_sort").select("steps").run()
    app.toggle(key="library_descending").set_value(False).run()
    assert _names(app) == [f"seed {seed}" for seed in range(0, 30, 2)]
    app.text_input(key="library_text").set_value("seed 8").run()
    assert _names(app) == ["seed 8", "seed 18", "seed 28"]
    app.text_input(key="library_text").set_value("nothing such").run()
    assert _names(app) == []
    app.button(key="library_clear").click().run()
    assert len(_names(app)) == 25


def test_words_are_changed_and_refused(library, page):
    library.keep(result_of(), name="first", tags=("old",))
    app = page()
    _tick(app, 1)
    next(field for field in app.text_input if field.label == "name").set_value("*second*").run()
    app.text_area[0].set_value("two\nlines").run()
    app.multiselect[0].set_value(["old", "new"]).run()
    entry = library.entry(1)
    assert (entry.name, entry.note, entry.tags) == ("*second*", "two\nlines", ("new", "old"))
    app.multiselect[0].set_value(["x" * 51]).run()
    assert not app.exception
    assert library.entry(1).tags == ("new", "old")


def test_deleted_runs_are_brought_back_or_gone_for_good(library, page):
    for seed in range(3):
        library.keep(result_of(seed=seed))
    app = page()
    _tick(app, 1, 2)
    app.button(key="library_delete").click().run()
    assert _names(app) == ["run 3"]
    app.button(key="library_undo").click().run()
    assert _names(app) == ["run 3", "run 2", "run 1"]
    _tick(app, 1, 2)
    # A click that comes twice.
    app.button(key="library_delete").click().run()
    app.session_state["library_view"] = True
    app.run()
    assert set(_names(app)) == {"run 1", "run 2"}
    _tick(app, 2)
    app.button(key="library_restore").click().run()
    assert _names(app) == ["run 1"]
    app.button(key="library_empty_sure").click().run()
    assert library.count(Query(deleted=True)) == 0
    assert library.count() == 2
    assert "The bin is empty" in _words(app)


@pytest.mark.slow
def test_a_run_is_opened_and_goes_on_in_its_row(library, page):
    library.keep(
        result_of(state="interrupted", seed=4, run=run_of(seed=4), seconds=100.0), name="mine"
    )
    app = page()
    before = app.session_state["session"].run.experiment
    _tick(app, 1)
    app.button(key="library_open_train").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Train"]
    run = app.session_state["session"].run
    assert run.wait(120.0)
    assert run.experiment != before
    assert run.experiment.seed == app.number_input(key="seed").value == 4
    assert (run.snapshot().state, run.snapshot().step) == ("done", 60)
    assert run.snapshot().seconds >= 100
    assert library.count() == 1


@pytest.mark.slow
def test_a_run_of_a_hidden_markov_process_has_a_tab_of_beliefs(library, page):
    library.keep(result_of(run=run_of()))
    hidden = dataclasses.replace(SMALL_LINEAR, generator=HiddenMarkov())
    library.keep(result_of(hidden, run=run_of(hidden)))
    for number, tabs in ((1, []), (2, ["Where it looks", "What it believes"])):
        app = page()
        _tick(app, number)
        app.button(key="library_open_look_inside").click().run()
        assert not app.exception
        assert [title.value for title in app.title] == ["Look inside"]
        drawn = [each.options for each in app.segmented_control if each.key == "view"]
        assert drawn == [tabs] * bool(tabs)
    assert app.session_state["session"].run.experiment.generator == HiddenMarkov()


def test_a_run_without_a_model_offers_its_settings(library, page):
    library.keep(result_of(seed=9))
    app = page()
    _tick(app, 1)
    assert "not its model" in _words(app)
    app.button(key="library_settings").click().run()
    assert [title.value for title in app.title] == ["Train"]
    assert app.number_input(key="seed").value == 9


def test_ticked_runs_are_compared(library, page):
    for seed in (1, 2):
        library.keep(result_of(seed=seed), name="twin")
    app = page()
    _tick(app, 1, 2)
    table = app.dataframe[1].value
    assert list(table["name"]) == ["twin (1)", "twin (2)"]
    assert list(table["seed"]) == ["1", "2"]
    assert "model" not in table


def test_what_cannot_be_read_is_named_and_deleted(folder, library, page):
    library.keep(result_of())
    library.keep(result_of(seed=2))
    file = folder / "runs" / "1.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "experiment": "{}"}))
    app = page()
    assert _names(app) == ["run 2"]
    assert "Run 1 cannot be read" in _words(app)
    app.button(key="library_delete_damaged").click().run()
    assert [entry.number for entry in library.entries()] == [2]
    assert "cannot be read" not in _words(app)


@pytest.fixture
def broken(folder):
    """A file where the folder of the library should be."""
    folder.write_text("in the way")


@pytest.mark.slow
def test_a_library_that_cannot_be_opened_stops_nothing(broken, folder, app, page):
    assert "Runs are kept in memory only" in _words(app)
    app.number_input(key="steps").set_value(2).run()
    app.button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    page(app)
    assert _names(app) == ["attention"]
    assert "cannot be made" in _words(app)
    folder.unlink()
    app.button(key="library_try_again").click().run()
    assert "cannot be made" not in _words(app)
    assert _names(app) == ["attention"]
    library = Library(folder)
    assert library.count() == 1


class TestContinue:
    """The Train page offers the newest interrupted run."""

    @pytest.fixture
    def interrupted(self, library):
        stored = run_of(seed=4)
        library.keep(result_of(state="interrupted", seed=4, run=stored), name="*mine*")
        library.keep(result_of(state="interrupted", seed=5), name="without a model")
        return library

    def test_it_goes_on_in_its_row(self, interrupted, app):
        app.run()
        assert "\\*mine\\*, step 60 of 60 (just now)" in _words(app)
        app.button(key="continue_run").click().run()
        assert app.session_state["session"].run.wait(120.0)
        assert app.session_state["session"].run.experiment.seed == 4
        app.run()
        assert "continue_run" not in [button.key for button in app.button]
        assert interrupted.count() == 2

    def test_the_finished_run_of_the_settings_is_shown_beside_it(self, interrupted, app):
        stored = run_of(seed=6)
        interrupted.keep(result_of(seed=6, run=stored))
        app.query_params.update(to_query(stored.experiment))
        app.run()
        # Until its data are drawn again, it is loading.
        assert app.session_state["session"].run.wait(120.0)
        app.run()
        assert app.session_state["session"].run.snapshot().state == "done"
        assert "continue_run" in [button.key for button in app.button]
        # Reset leads to the same settings, untrained.
        app.button(key="run_reset").click().run()
        assert app.run().session_state["session"].run.snapshot().state == "idle"

    def test_dismissed_it_does_not_come_back(self, interrupted, app, page):
        app.run().button(key="continue_dismiss").click().run()
        other = AppTest.from_file(APP, default_timeout=60).run()
        for each in (app, other):
            assert "continue_run" not in [button.key for button in each.button]

    def test_not_while_another_tab_has_it(self, interrupted, app):
        app.run().button(key="continue_run").click().run()
        other = AppTest.from_file(APP, default_timeout=60).run()
        assert "continue_run" not in [button.key for button in other.button]

    def test_not_on_a_shared_server(self, interrupted, monkeypatch):
        monkeypatch.setenv("ATTNLAB_HOSTED", "1")
        app = AppTest.from_file(APP, default_timeout=60).run()
        assert "continue_run" not in [button.key for button in app.button]


class TestHosted:
    """A shared server has a library for each session, and nothing on disk."""

    @pytest.fixture(autouse=True)
    def _hosted(self, folder, monkeypatch):
        monkeypatch.setenv("ATTNLAB_HOSTED", "1")
        work_queue.clear()
        yield
        work_queue.clear()
        assert not folder.exists()

    def test_it_ends_with_the_session_and_says_so(self, page):
        app, other = page(), page()
        assert "until you close or reload the page" in _words(app)
        library = app.session_state["session"].library
        library.keep(result_of(run=run_of()), name="mine")
        assert _names(app.run()) == ["mine"]
        assert _names(other.run()) == []
        # Deleting concerns one's own runs alone, whatever their numbers.
        other.session_state["session"].library.keep(result_of(run=run_of()), name="theirs")
        _tick(other.run(), 1)
        other.button(key="library_delete").click().run()
        assert _names(other) == []
        other.session_state["library_view"] = True
        other.run().button(key="library_empty_sure").click().run()
        assert library.count() == 1
        assert _names(app.run()) == ["mine"]

    def test_it_has_a_bound(self, page):
        app = page()
        library = app.session_state["session"].library
        assert library.take_in(_archive(result_of())).added == (1,)
        run = run_of()
        huge = run.history.with_losses(np.full(9_000_000, 0.5, np.float32))
        with pytest.raises(OSError, match="full"):
            library.keep(result_of(run=run._replace(history=huge)))

    def test_only_ended_runs_are_in_it(self, page):
        app = page()
        keeper = app.session_state["session"].keeper
        assert keeper(result_of(state="interrupted", steps=5), None) is None
        assert keeper(result_of(), None).number == 1


def _archive(*results):
    library = Library(None)
    numbers = [library.keep(result) for result in results]
    return library.export(numbers)


def test_a_file_of_runs_and_a_run_file_are_taken_in(library):
    taken = take_in_file(
        library, _archive(result_of(seed=1), result_of(seed=2, run=run_of(seed=2)))
    )
    assert (taken.added, taken.known, taken.refused) == ((1, 2), 0, ())
    assert library.run_of(2).experiment.seed == 2
    taken = take_in_file(library, to_bytes(run_of(seed=3)))
    assert taken.added == (3,)
    assert library.entry(3).state == "done"
    with pytest.raises(ValueError, match="not an attnlab file of runs"):
        take_in_file(library, b"a photograph")
    with pytest.raises(ValueError, match="damaged or cut off"):
        take_in_file(library, to_bytes(run_of())[:-2])


def test_why_a_run_is_not_kept_is_told_once(folder, app):
    app.session_state["session"].keeper.problem = "The disk is *full*."
    assert "The disk is \\*full\\*." in app.run().toast[0].value
    assert not app.run().toast


@pytest.mark.slow
def test_whatever_an_import_accepts_is_drawn(folder, library, page):
    plain = {**RECORD, "model_bytes": None}
    taken = library.take_in(
        joined(
            [
                (
                    {**plain, "date": f"2026-01-01T00:{minute:02}:{second:02}+00:00", field: value},
                    b"",
                )
                for minute, field in enumerate(sorted(plain.keys() - {"model_bytes"}))
                for second, value in enumerate(HOSTILE)
            ]
        )
    )
    assert len(taken.added) > 100
    assert len(taken.refused) > 100
    app = page()
    assert not library.problems()
    pages = (library.count() - 1) // 25 + 1
    for number in range(2, pages + 1):
        app.session_state["library_page"] = number
        app.run()
        assert not app.exception
    for number in taken.added[::10]:
        _tick(app, number)
