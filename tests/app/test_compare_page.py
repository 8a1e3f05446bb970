"""The Compare page without a browser."""

import pytest

from attnlab.comparisons.questions import COMPARISONS, FIRST_COMPARISON
from attnlab.training.limits import HOSTED
from attnlab.ui.compare.work import ComparisonProgress
from tests.app.lessons import (
    STOP_PATIENCE,
    alts,
    charts,
    code,
    endless,
    first_item,
    open_page,
    texts,
)
from tests.app.test_inspect_page import progress
from tests.unit.made_up_results import finished

PATIENCE = 300
WORK = "attnlab.ui.compare.work.compare"
# Two models, two seeds, twenty steps.
SMALL = {
    "v": "2",
    "steps": "20",
    "train_size": "100",
    "test_size": "100",
    "vary_model": "linear,attention",
    "seeds": "2",
}


@pytest.fixture
def page():
    app = open_page("pages/compare.py", SMALL)
    yield app
    work = app.session_state["session"].jobs.get("compare")
    if work is not None:
        work.pause()
        assert work.wait(PATIENCE)


def captions(page) -> str:
    return " ".join(each.value for each in page.caption)


def warnings(page) -> str:
    return " ".join(each.value for each in page.warning)


@pytest.mark.slow
def test_a_link_holds_the_whole_comparison(page):
    assert page.multiselect(key="vary_model").value == ["linear", "attention"]
    assert page.number_input(key="compare_seeds").value == 2
    assert "2 settings × 2 seeds = 4 runs" in texts(page)
    assert "rough estimate" in texts(page)
    page.multiselect(key="compare_more").set_value(["length", "learning_rate"]).run()
    page.text_input(key="vary_length").set_value("5, 8").run()
    page.text_input(key="vary_learning_rate").set_value("0.01,0.1,1").run()
    assert "12 settings × 2 seeds = 24 runs" in texts(page)
    assert not page.exception
    assert not page.error
    address = {key: page.query_params[key] for key in page.query_params}
    said = {key: text if isinstance(text, str) else text[-1] for key, text in address.items()}
    again = open_page("pages/compare.py", said)
    assert "12 settings × 2 seeds = 24 runs" in texts(again)
    assert again.text_input(key="vary_learning_rate").value == "0.01,0.1,1"
    assert not again.warning


@pytest.mark.slow
def test_what_a_link_asks_for_in_vain_is_told():
    bad = {"vary_model": "linear,teapot", "vary_colour": "red", "seeds": "-1"}
    page = open_page("pages/compare.py", {"v": "2"} | bad)
    assert not page.exception
    for words in ("'teapot'", "`colour`", "`seeds`"):
        assert words in warnings(page)
    assert "1 setting × 5 seeds = 5 runs" in texts(page)


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("vary_length", "five", "`length` is"),
        pytest.param(
            "vary_length",
            ",".join(map(str, range(2, 20))) + "," * 10,
            None,
            marks=pytest.mark.slow,
        ),
        ("vary_d_attn", "-1", None),
    ],
)
def test_values_that_make_no_sense_are_told_and_harm_nothing(page, key, text, words):
    page.multiselect(key="compare_more").set_value([key.removeprefix("vary_")]).run()
    page.text_input(key=key).set_value(text).run()
    assert not page.exception
    assert (words is None) == (not page.error)
    if words:
        assert words in page.error[0].value
        page.button(key="compare_start").click().run()
        assert page.session_state["session"].jobs.get("compare") is None
    page.text_input(key=key).set_value("").run()
    assert not page.error


@pytest.mark.slow
def test_every_question_sets_the_controls(page):
    for name, comparison in COMPARISONS.items():
        page.selectbox(key="compare_preset").set_value(name).run()
        assert not page.exception
        assert not page.error
        assert page.number_input(key="compare_seeds").value == comparison.grid.seeds
        assert comparison.title in page.selectbox(key="compare_preset").options
        assert comparison.description in texts(page)
        assert page.session_state["compare_preset"] == name
        assert not page.warning


@pytest.mark.slow
def test_a_click_directly_after_a_change_does_not_choose_the_previous_question_again(page):
    page.selectbox(key="compare_preset").set_value(FIRST_COMPARISON).run()
    heard = page.text_input(key="receipt").value
    seeds = page.number_input(key="compare_seeds").value
    page.number_input(key="compare_seeds").set_value(seeds + 1).run()
    page.selectbox(key="compare_preset").set_value(FIRST_COMPARISON)
    page.text_input(key="receipt").set_value(heard)
    page.run()
    assert page.number_input(key="compare_seeds").value == seeds + 1
    # Chosen by the user, it counts.
    page.selectbox(key="compare_preset").set_value(FIRST_COMPARISON).run()
    assert page.number_input(key="compare_seeds").value == seeds


def _finish(page):
    page.button(key="compare_start").click().run()
    work = page.session_state["session"].jobs.get("compare")
    assert work.wait(PATIENCE)
    page.run()
    for _ in range(60):
        if "Variance explained" in [header.value for header in page.header]:
            break
        page.run()
    assert not page.exception
    assert not page.error


@pytest.mark.slow
def test_a_task_of_fewer_sources_than_a_run_has_by_default():
    cards = {"generator": "cards", "cards_hand": "3", "cards_suits": "2", "cards_ranks": "4"}
    models = {"model": "rnn-attention", "vary_model": "rnn-bottleneck,rnn-attention"}
    link = SMALL | cards | models | {"data": "fresh", "loss": "next"}
    page = open_page("pages/compare.py", link)
    _finish(page)
    table = page.dataframe[0].value
    assert list(table["n"]) == ["2 of 2"] * 2
    assert all(" to " in shown or "in all 2" in shown for shown in table["exact match"])
    # The length follows from the hand.
    further = page.multiselect(key="compare_more").options
    assert not any(label.startswith("length") for label in further)
    page.segmented_control(key="compare_figure").set_value("exact_match").run()
    assert not page.exception
    assert not page.error
    assert any("exact match" in name for name in page.dataframe[1].value.columns)


@pytest.mark.slow
def test_runs_are_made_once_and_read(page):
    page.multiselect(key="compare_more").set_value(["length"]).run()
    page.text_input(key="vary_length").set_value("5,6").run()
    _finish(page)
    assert "done: 100% · 8 of 8 runs" in progress(page)
    assert len(charts(page)) == 5
    table = page.dataframe[0].value
    assert list(table["n"]) == ["2 of 2"] * 4
    assert " to " in table["accuracy"][0]
    assert all(len(each.split()) == 2 for each in table["each seed"])
    assert all(" of 2 (" in each or each == "–" for each in table["reached 90%"])
    # One pair may have been chosen for its size out of the six that four settings make.
    second = page.selectbox(key="compare_second")
    second.set_value(second.options[1]).run()
    assert "corrected for all 6 pairs" in captions(page)
    assert any("up to 66 % of other seeds may fail" in each.proto.help for each in page.caption)
    for figure in ("nll", "learned"):
        page.segmented_control(key="compare_figure").set_value(figure).run()
        assert not page.exception
    page.button(key="compare_start").click().run()
    assert page.session_state["session"].jobs.get("compare").wait(PATIENCE)
    page.run()
    assert "8 of them already computed" in progress(page)
    compile(code(page), "in code", "exec")


def test_the_verdict_is_above_the_chart_and_agrees_with_the_table_of_differences():
    page = open_page("pages/compare.py")
    verdict = (
        "transformer is best: its accuracy is above that of attention by 0.087 (95% interval 0.076 "
        "to 0.098)."
    )
    more = (
        "transformer reaches the best possible within the error.",
        "attention and linear are too close to call: they differ by 0.008 (−0.006 to 0.023).",
    )
    (shown,) = (each for each in page.markdown if verdict in each.value)
    assert shown.value == "  \n".join((f"**{verdict}**", *more))
    assert "corrected for all 3 pairs" in shown.proto.help
    assert " ".join((verdict, *more)) in alts(page)[0]
    for first, second, difference, says in (
        ("attention", "transformer", "0.087 (0.076 to 0.098)", "better"),
        ("linear", "attention", "0.008 (−0.006 to 0.023)", "within the noise"),
    ):
        page.selectbox(key="compare_first").set_value(first).run()
        page.selectbox(key="compare_second").set_value(second).run()
        (row,) = page.dataframe[1].value.to_dict("records")
        assert (row[f"accuracy − that of {first}"], row["verdict"]) == (difference, says)


@pytest.mark.slow
def test_a_measure_of_beliefs_is_a_result_like_others(monkeypatch):
    def measured(plan, *_):
        each = {"belief_r2:attention.0": ((20, 0.5),), "untrained_belief_r2": ((20, 0.25),)}
        runs = [finished(run, 1.0, seed=run.seed, metrics=each) for run in plan.study.runs]
        yield ComparisonProgress(tuple(runs), share=1.0)

    monkeypatch.setattr(WORK, measured)
    page = open_page("pages/compare.py", SMALL)
    page.selectbox(key="compare_preset").set_value("belief-families").run()
    assert "belief_r2,untrained_belief_r2" in page.query_params["metrics"]
    measures = page.multiselect(key="compare_metrics")
    assert "R² of the belief, attention 1" in measures.options
    measures.set_value(["belief_r2:attention.0", "untrained_belief_r2"]).run()
    assert page.query_params["metrics"] == "belief_r2:attention.0,untrained_belief_r2"
    page.button(key="compare_start").click().run()
    assert page.session_state["session"].jobs.get("compare").wait(PATIENCE)
    page.run()
    assert page.segmented_control(key="compare_figure").value == "belief_r2:attention.0"
    assert not page.exception
    assert not page.error
    assert (
        list(page.dataframe[0].value["R² of the belief before training"]) == ["0.250 in all 3"] * 6
    )
    assert "R² of the belief, attention 1" in page.dataframe[1].value.columns[1]


@pytest.mark.slow
def test_runs_are_stopped_and_gone_on_with(page, monkeypatch):
    with endless(monkeypatch, WORK, ComparisonProgress(share=0.5)):
        page.button(key="compare_start").click().run()
        work = page.session_state["session"].jobs.get("compare")
        first_item(work)
        page.button(key="compare_stop").click().run()
        assert work.wait(STOP_PATIENCE)
        page.run()
        assert "stopped: 50% · 0 of 4 runs" in progress(page)
        page.button(key="compare_go_on").click().run()
        assert work.state().running
        assert not page.exception


@pytest.mark.slow
def test_more_runs_than_a_shared_server_allows_are_refused(page, monkeypatch):
    monkeypatch.setattr("attnlab.ui.compare.work.limits", lambda: HOSTED)
    page.number_input(key="compare_seeds").set_value(60).run()
    assert "`runs` is 120: more than the cap of 100" in page.error[0].value
    page.button(key="compare_start").click().run()
    assert page.session_state["session"].jobs.get("compare") is None


@pytest.mark.slow
def test_a_changed_choice_is_told_and_can_be_taken_back(page, monkeypatch):
    monkeypatch.setattr(WORK, lambda *_: iter([ComparisonProgress(share=1.0)]))
    page.button(key="compare_start").click().run()
    assert page.session_state["session"].jobs.get("compare").wait(PATIENCE)
    page.number_input(key="steps").set_value(30).run()
    page.multiselect(key="vary_model").set_value([]).run()
    assert any("Settings changed" in info.value for info in page.info)
    page.button(key="compare_back").click().run()
    assert page.number_input(key="steps").value == 20
    assert page.multiselect(key="vary_model").value == ["linear", "attention"]
    assert not any("Settings changed" in info.value for info in page.info)


@pytest.mark.slow
def test_whoever_comes_from_training_finds_the_settings(app):
    app.query_params.update({"v": "2", "generator": "recall", "recall_days": "1,2,3"})
    app.run()
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="generator").value == "recall"
    assert app.text_input(key="recall_days").value == "1  2  3"
