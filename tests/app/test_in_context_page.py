"""In context without a browser: a small run, its heads, and the references that it is near to."""

from html.parser import HTMLParser

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnlab.runs.links import LINK_VERSION
from attnlab.ui.core.example_run import example_run
from attnlab.ui.in_context.text_panel import strip_html
from tests.app.conftest import APP
from tests.app.lessons import film

PAGE, FORMER = "pages/look_inside.py", "pages/in_context.py"
SETTINGS = {
    "view": "algorithm", "generator": "in-context-markov", "length": 6,
    "model": "transformer", "transformer_heads": 1,
    "transformer_layers": 2, "transformer_d_model": 8, "transformer_mlp_width": 0, "loss": "next",
    "steps": 20, "batch": 20, "test_size": 100, "data": "fresh",
}  # fmt: skip


def opened(app, **more):
    app.switch_page(PAGE)
    app.query_params.clear()
    for name, value in ({"v": LINK_VERSION} | SETTINGS | more).items():
        app.query_params[name] = str(value)
    app.run()
    assert not app.exception
    return app


def texts(app):
    return " ".join(each.value for each in (*app.markdown, *app.caption))


@pytest.mark.slow
def test_heads_and_references_of_a_run(app):
    opened(app).button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    app.run()
    while "Computing the exact predictions" in texts(app):
        app.run()
    # Each rerun measures some models, and the curves end at the first one that is missing.
    drawn: list[str] = []
    while drawn != (now := [each.proto.alt for each in app.get("vega_lite_chart")]):
        drawn = now
        app.run()
    assert not app.exception
    losses = film(app)
    assert (losses["subject"]["title"], losses["measured"][-1]["step"]) == (
        "loss by token (nats)",
        20,
    )
    assert "KL from the best mixture" in texts(app)
    answer = next(each.value for each in app.markdown if "the model is nearest to" in each.value)
    assert answer.startswith("**At step 20 the model is nearest to the ")
    history = next(each.value for each in app.caption if each.value.startswith("Nearest ["))
    last = history.split("**")[1].split(", ")[-1].split(" from step")[0]
    assert f"“{last}”:** KL(reference ‖ model) " in answer
    (heads,) = [each.value for each in app.table if "prefix match" in each.value]
    # The true sources of a table in the context are the prefix matches.
    assert heads.columns.tolist() == ["prefix match", "previous token", "copying"]
    assert heads.index.tolist() == ["L1 H1", "L2 H1"]
    for panel in ("head_text", "without_heads", "clamp_panel"):
        app.session_state[panel] = True
    app.run()
    assert not app.exception
    alts = {each.proto.alt for each in app.get("vega_lite_chart")}
    assert any("KL from 3 reference predictors" in alt for alt in alts)
    assert any("Score of L2 H1 in its parts" in alt for alt in alts)
    (losses,) = [each.value for each in app.table if "zeroed" in each.value]
    assert losses.index.tolist() == [
        "the model", "without L1 H1", "without L2 H1", "uniform", "in-context unigram",
        "optimal (bigram)",
    ]  # fmt: skip
    # Of two tokens. Without a head, the model is worse than a guess.
    means = losses.iloc[:3].map(lambda loss: float(loss.split()[0]))
    assert means.iloc[0].max() < np.log(2) < means.iloc[1:].max().max()
    assert "A loss above a uniform guess (0.693) means confident predictions" in texts(app)
    (paths,) = [each.value for each in app.table if "query" in each.value]
    assert paths.index.tolist() == ["without L1 H1"]
    assert app.button(key="clamp_start").label == "Train with this clamp"
    app.button(key="clamp_start").click().run()
    assert app.session_state["session"].jobs["clamp"].wait(120.0)
    app.run()
    assert not app.exception
    assert "**L1 H1: " in texts(app)
    assert any("the run with L1 H1" in each.proto.alt for each in app.get("vega_lite_chart"))
    before = texts(app)
    app.session_state["shown_step"] = 0
    app.run()
    assert not app.exception
    assert "**Nearest mixture of references**, step 0" in texts(app) != before
    # The tab is chosen on the page, and stands in the address.
    app.segmented_control(key="view").set_value("attention").run()
    assert "**Nearest mixture of references**" not in texts(app)
    assert "view" not in app.query_params
    app.segmented_control(key="view").set_value("algorithm").run()
    assert not app.exception
    assert "**Nearest mixture of references**, step 0" in texts(app)
    assert app.query_params["view"] == "algorithm"


@pytest.mark.slow
def test_who_has_chosen_nothing_sees_induction():
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page(FORMER)
    app.query_params.clear()
    app.run()
    assert not app.exception
    assert app.selectbox(key="preset").value == "induction"
    # The run that comes with attnlab has an answer without a press of Start.
    assert example_run("induction").wait(120.0)
    app.run()
    while "Computing the exact predictions" in texts(app):
        app.run()
    assert not app.exception
    assert app.session_state["session"].run.snapshot().state == "idle"
    assert texts(app).count("This run comes with attnlab.") == 1
    assert "**At step 1,000 the model is nearest to the [reference predictor]" in texts(app)
    assert "“optimal" in texts(app)


@pytest.mark.slow
def test_a_process_with_one_rule_offers_the_others(app):
    app.selectbox(key="generator").select("dotmod").run()
    app.switch_page(FORMER).run()
    app.button(key="choose_icl-markov").click().run()
    assert not app.exception
    assert app.selectbox(key="generator").value == "in-context-markov"


@pytest.mark.parametrize(
    ("more", "words"),
    [({"loss": "last"}, "Choose the loss"), ({"transformer_mask": "none"}, "see later tokens")],
)
def test_models_that_cannot_be_measured_are_refused(app, more, words):
    assert words in texts(opened(app, **more))


def test_the_tokens_of_a_text_are_marked_by_what_they_are():
    symbols, shares = ["<b>", "b", "a", "b"], np.array([0.9, 0.0, 0.1, 0.0])
    tokens, texts = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag == "span":
                tokens.append((set((dict(attrs)["class"] or "").split()), dict(attrs)["title"]))

        def handle_data(self, data):
            texts.append(data)

    Reader().feed(strip_html("L1 H1", symbols, shares, 2, [0, 1], "token", dark=False))
    assert texts == ["L1 H1", *symbols]
    assert [kinds for kinds, _ in tokens] == [
        {"source", "strong"}, {"source"}, {"query"}, {"unseen"}
    ]  # fmt: skip
    assert [title for _, title in tokens] == ["1: 90 %", "2: 0 %", "3: 10 %", "4: 0 %"]
