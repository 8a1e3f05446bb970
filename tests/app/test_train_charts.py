"""The Train page without a browser: what a new visitor starts, the lines and the views it shows."""

import dataclasses
import re
import time

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.generators import DotMod, Even, Markov, ModularAddition
from attnlab.lessons.examples import shipped_run
from attnlab.live.live_run import LiveRun
from attnlab.optimum import optimum
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.training.steps import Training
from attnlab.ui.train import training_page
from attnlab.ui.train.film_panel import SEEN_END
from tests.app.conftest import APP
from tests.app.lessons import figures, film
from tests.unit.live_runs import trained
from tests.unit.small_experiments import SMALL_MODELS, SMALL_TRANSFORMER, small

_PATIENCE = 120.0


def _until(app, holds):
    """Draw the page again until something holds; timers do not run here."""
    deadline = time.monotonic() + _PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline
        app.run()
        assert not app.exception
    return found


def _run(app):
    return app.session_state["session"].run


def _finish(app, experiment=SMALL_TRANSFORMER):
    """Make the run of the session one that has ended."""
    _run(app).resume(trained(small(experiment, steps=2)))
    assert _run(app).wait(_PATIENCE)
    app.run()


def _train(app, experiment):
    _open(app, experiment)
    app.button(key="run_start").click().run()
    assert _run(app).wait(_PATIENCE)


def _charts(app):
    """The charts of the page."""
    return tuple(app.session_state["session"].charts.values())


@pytest.mark.slow
def test_a_new_visitor_starts_a_run_with_one_click(monkeypatch):
    app, started = AppTest.from_file(APP, default_timeout=60).run(), []
    monkeypatch.setattr(LiveRun, "start", lambda run: started.append(run.experiment))
    app.button(key="welcome_cards-encoder-decoder").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Train"]
    assert started == [PRESETS["cards-encoder-decoder"].experiment]
    # The other doors stay open, until a setting is changed.
    assert any(button.key == "welcome_induction" for button in app.button)
    app.number_input(key="seed").set_value(7).run()
    assert not any(button.key == "welcome_induction" for button in app.button)


@pytest.mark.slow
def test_a_run_with_nothing_to_mend_ends_in_a_next_step(app, monkeypatch):
    """The start preset in the puzzle, and others in what is inside of them."""
    started = []
    app.query_params.update(to_query(PRESETS[FIRST_PRESET].experiment))
    app.run()
    run = app.session_state["session"].run
    run.resume(shipped_run("recall"))
    assert run.wait(120.0)
    while not any(button.key == "next_step" for button in app.run().button):
        assert not app.exception
    assert app.button(key="next_step").label == "Now try the blog's puzzle"
    shares = "If the average pattern replaces its attention, the model reaches only"
    assert any(shares in words.value for words in app.markdown)
    assert film(app)["cookie"] == SEEN_END
    with monkeypatch.context() as patch:
        patch.setattr(LiveRun, "start", lambda run: started.append(run.experiment))
        app.button(key="next_step").click().run()
    assert not app.exception
    assert started == [PRESETS["published-dotmod-attention"].experiment]
    hidden = dataclasses.replace(SMALL_TRANSFORMER, generator=Even())
    _open(app, hidden)
    app.session_state["session"].run.resume(trained(hidden))
    assert app.session_state["session"].run.wait(120.0)
    monkeypatch.setattr(training_page, "advice_for", lambda experiment, happened: None)
    while not any(button.key == "next_step" for button in app.run().button):
        assert not app.exception
    app.button(key="next_step").click().run()
    assert [title.value for title in app.title] == ["Look inside"]
    assert app.segmented_control(key="view").value == "beliefs"
    app.button(key="next_step").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Compare"]
    assert app.selectbox(key="generator").value == "even"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "tab"), [("mess3-belief", "beliefs"), ("induction", "algorithm")]
)
def test_a_new_visitor_looks_into_a_finished_run_with_one_click(preset, tab):
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.button(key=f"welcome_{preset}").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Look inside"]
    assert app.segmented_control(key="view").value == tab
    assert app.selectbox(key="preset").value == preset
    assert _run(app).experiment == PRESETS[preset].experiment
    # The shipped film, or that of the example run once it is read.
    assert len(film(app)["frames"]) > 1


def _open(app, experiment):
    app.query_params.clear()
    app.query_params.update(to_query(experiment))
    return app.run()


@pytest.mark.slow
def test_advice_leads_from_a_stuck_run_to_a_better_one(app):
    published = PRESETS["published-dotmod-attention"].experiment
    training = dataclasses.replace(published.training, train_size=500, test_size=500, steps=100)
    _open(app, dataclasses.replace(published, length=4, training=training))
    # The loss of the published head is far above a uniform guess before any step.
    assert not any("diverges" in warning.value for warning in app.warning)
    app.button(key="run_start").click().run()
    assert _run(app).wait(_PATIENCE)
    (advice,) = _until(app, lambda: [each for each in app.button if each.key == "advice"])
    label = "Train the last day only, with learned positions"
    assert (advice.label, advice.proto.type) == (label, "primary")
    advice.click().run()
    assert app.selectbox(key="loss").value == "last"
    assert _run(app).experiment.training.loss == "last"
    assert _run(app).wait(_PATIENCE)
    assert not app.run().exception
    (walk,) = [each.value for each in app.markdown if each.value.startswith("Learned: ")]
    assert re.fullmatch(r"Learned: attention \d+ % → \*\*last day only \d+ %\*\*", walk)


@pytest.mark.slow
def test_the_step_at_which_the_film_rests_is_shown_in_all_panels(app):
    _finish(app)
    assert [frame["step"] for frame in film(app)["frames"]] == [0, 1, 2]
    words = [each.value for each in app.markdown]
    assert any("`step 2` of 2" in word for word in words)
    # As the browser reports it.
    app.session_state["shown_step"] = 1
    app.run()
    words = [each.value for each in app.markdown]
    assert any("`showing step 1` of 2" in word for word in words)
    assert not any("`step 2`" in word for word in words)
    assert film(app)["at"] == 1


def test_of_a_run_that_trains_only_the_newest_frame_is_sent_and_kept(app, monkeypatch):
    _finish(app)
    at_rest = _run(app).snapshot()
    for step in (1, 2):
        latest = at_rest.latest._replace(step=step)
        now = dataclasses.replace(at_rest, state="running", latest=latest)
        monkeypatch.setattr(LiveRun, "snapshot", lambda run, now=now: now)
        app.run()
        assert [frame["step"] for frame in film(app)["frames"]] == [step]
        *_, known = app.session_state["session"].kept["film"]
        assert [*known] == [step]


@pytest.mark.slow
def test_the_coloured_button_is_what_to_do_next(app):
    def coloured():
        return {each.key for each in app.button if each.proto.type == "primary"}

    assert coloured() == {"run_start"}
    _finish(app)
    _open(app, _run(app).experiment)
    assert coloured() in ({"advice"}, {"next_step"})
    app.number_input(key="seed").set_value(3).run()
    assert coloured() == {"run_start"}


def test_a_finished_run_whose_test_is_computed_is_loading(app, monkeypatch):
    _finish(app)
    loading = dataclasses.replace(_run(app).snapshot(), state="compiling")
    monkeypatch.setattr(LiveRun, "snapshot", lambda run: loading)
    app.run()
    (status,) = [each.value for each in app.markdown if "of 2" in each.value]
    assert "loading" in status
    assert "compiling" not in status


@pytest.mark.slow
def test_a_run_has_one_name_in_the_chart_the_table_and_the_walk(app):
    _finish(app)
    _open(app, _run(app).experiment)
    for seed in (3, 4):
        app.number_input(key="seed").set_value(seed).run()
        app.button(key="run_start").click().run()
        assert _run(app).wait(_PATIENCE)
    app.session_state["runs"] = True
    app.run()
    names = ["transformer", "seed 3"]
    assert list(app.dataframe[0].value["run"]) == [*names, "seed 4 (current run)"]
    assert set(names) < {curve["name"] for curve in film(app)["curves"]}
    (walk,) = _until(app, lambda: [each for each in app.markdown if "Learned: " in each.value])
    assert re.sub(r" −?\d+ %", "", walk.value) == "Learned: transformer → seed 3 → **seed 4**"
    # The current run has its name in the library, too, and a name given there holds here.
    library = app.session_state["session"].library
    numbers = {entry.name: entry.number for entry in library.entries()}
    assert set(numbers) == {"seed 3", "seed 4"}
    for name, new in (("seed 3", "before"), ("seed 4", "after")):
        app.switch_page("pages/library.py").run()
        app.session_state["library_ticked"] = (numbers[name],)
        app.run()
        next(field for field in app.text_input if field.label == "name").set_value(new).run()
    app.switch_page("pages/train.py").run()
    app.session_state["runs"] = True
    app.run()
    names = ["transformer", "before", "after (current run)"]
    assert list(app.dataframe[0].value["run"]) == names


@pytest.mark.slow
def test_another_process_brings_its_own_floor(app):
    for process in (Markov(), DotMod()):
        _train(app, dataclasses.replace(SMALL_TRANSFORMER, generator=process))
        app.run()
        length = SMALL_TRANSFORMER.length
        floor = optimum(process, length).final.nll
        levels = _until(app, lambda: [each for each in film(app)["levels"] if "best" in each[0]])
        assert [nats for _, nats, _ in levels] == [pytest.approx(floor)]


@pytest.mark.slow
def test_every_head_of_a_transformer_is_shown(app):
    _finish(app)
    names = [each["name"] for each in film(app)["maps"]]
    assert names == ["L1 H1", "L1 H2", "L2 H1", "L2 H2"]
    app.session_state["views"] = True
    app.run()
    assert "Attention patterns of layer 2, 4 days." in _charts(app)[0].alt
    app.selectbox(key="inside_layer_2").set_value(0).run()
    assert "Attention patterns of layer 1" in _charts(app)[0].alt
    for heads, said in (([1], "pattern of layer 1, head 2"), ([], "patterns of layer 1")):
        app.pills(key="inside_head_2").set_value(heads).run()
        assert said in _charts(app)[0].alt
    app.selectbox(key="inside_view_2").set_value(1).run()
    assert "Attention patterns of all 4 heads of 2 layers" in _charts(app)[0].alt


@pytest.mark.slow
def test_every_view_of_a_family_without_attention_is_drawn(app):
    _finish(app, SMALL_MODELS["ssm"])
    app.session_state["views"] = True
    app.run()
    (view,) = _until(app, lambda: [each for each in app.selectbox if each.key == "inside_view_4"])
    assert view.options == ["influence", "hidden states", "time scales", "by lag"]
    said = set()
    for place in range(4):
        app.selectbox(key="inside_view_4").set_value(place).run()
        assert not app.exception
        said.add(_charts(app)[0].alt)
    assert len(said) == 4


@pytest.mark.slow
def test_a_run_that_memorises_has_both_accuracies(app):
    training = Training(split="distinct", train_size=21, test_size=100, batch_mode="full", steps=40)
    app.session_state["measures"] = True
    _train(app, Experiment(generator=ModularAddition(p=11), training=training))
    app.run()
    assert not app.exception
    known = figures(app)
    # Nothing that is trained is tested, and 21 sums say little about the others.
    assert float(known["training accuracy"]) > float(known["test accuracy"].split(" ")[0])

    def alt():
        charts = app.session_state["session"].charts
        return charts["accuracy on the training set and accuracy over training"].alt

    _until(app, lambda: "at step 40" in alt())
    assert f"accuracy on the training set {known['training accuracy']} at step 40" in alt()


@pytest.mark.slow
def test_a_measure_that_the_next_run_does_not_have_stays_and_says_what_it_needs(app):
    fresh = Training(loss="next", data="fresh", batch=20, test_size=100, steps=4)
    app.session_state["measures"] = True
    _train(app, Experiment(length=4, model="transformer", training=fresh))
    app.run()
    app.multiselect(key="measures_shown").set_value(["prefix_match", "nll"]).run()
    _until(app, lambda: _says(app, "prefix match", "at step 4"))
    _train(app, Experiment(length=4, model="linear", training=Training(steps=4, test_size=100)))
    app.run()
    _until(app, lambda: _says(app, "prefix match is not defined here. It needs self-attention"))
    assert not app.exception


def _says(app, *parts):
    return any(all(part in each.value for part in parts) for each in app.caption)


@pytest.mark.slow
def test_only_losses_on_the_same_process_are_on_the_chart(app):
    first = small(SMALL_TRANSFORMER, steps=2)
    _train(app, first)
    _open(app, dataclasses.replace(first, generator=Even()))
    assert app.button(key="run_start").label == "Train on even"
    _train(app, dataclasses.replace(first, generator=Even()))
    faster = dataclasses.replace(first.training, learning_rate=0.02)
    _train(app, dataclasses.replace(first, training=faster))
    app.run()
    past = app.session_state["session"].past_runs
    assert [run.experiment.generator.name for run in past] == [first.generator.name, "even"]
    names = [curve["name"] for curve in film(app)["curves"]]
    assert past[0].name in names
    assert past[1].name not in names


@pytest.mark.slow
def test_the_welcome_stands_beside_a_finished_run_of_the_library_until_another_is_chosen():
    app = AppTest.from_file(APP, default_timeout=60).run()
    _run(app).resume(shipped_run("recall"))
    assert _run(app).wait(_PATIENCE)
    app.run()
    assert any("New here? Try" in words.value for words in app.markdown)
    app.button(key="welcome_mess3-belief").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Look inside"]
    assert _run(app).experiment == PRESETS["mess3-belief"].experiment
    # The shipped one, or that of the example run.
    assert film(app)["frames"]
    app.switch_page("pages/train.py").run()
    assert not any("New here?" in words.value for words in app.markdown)
