"""Pages that open with a result which comes with the program."""

import numpy as np
import pytest

from attnlab.lessons import examples
from attnlab.lessons.costs import CostProgress
from attnlab.lessons.examples import shipped_example
from attnlab.lessons.sweep import SweepProgress
from attnlab.ui.compare.work import ComparisonProgress
from attnlab.ui.core.example_run import example_run
from tests.app.lessons import STOP_PATIENCE, charts, endless, first_item, open_page, texts

COMPARE, COSTS, SOFTMAX = (
    f"pages/{name}.py" for name in ("compare", "what_attention_costs", "softmax_scaling")
)
# By job: its page, and a control with a value that no example has.
OTHERS = {
    "compare": (COMPARE, {"compare_seeds": 3}),
    "attention_cost": (COSTS, {"cost_d_attn": "64"}),
    "generation_cost": (COSTS, {"cost_layers": 3}),
    "sweep": (SOFTMAX, {"sweep_steps": 700}),
}
LABEL = "**Example result**"


def _open(path):
    # Such a link opens the panel of the runs.
    return open_page(path, {"sweep_seeds": "3"} if path == SOFTMAX else {})


def notes(page) -> list[str]:
    """What is said of the results below, one for each that is not of the user's own settings.

    The last line is the tooltip.
    """
    drawn = [each for each in (*page.info, *page.caption) if "Press" in each.value]
    return [f"{each.value}\n{getattr(each.proto, 'help', '')}" for each in drawn]


def example_notes(page) -> list[str]:
    return [note for note in notes(page) if LABEL in note]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_page_opens_with_an_example_that_says_so_whatever_the_settings(name):
    path, others = OTHERS[name]
    page = _open(path)
    made = [shipped_example(each).made for each, (on, _) in OTHERS.items() if on == path]
    first = example_notes(page)
    for note, of in zip(first, made, strict=True):
        assert f"attnlab {of.attnlab}" in note
        assert of.date in note
    drawn = charts(page)
    assert drawn
    for key, value in others.items():
        page.session_state[key] = value
    page.run()
    assert not page.exception
    assert not page.error
    # The same example, with its own settings: those of the controls are in what a button does.
    for before, after in zip(first, example_notes(page), strict=True):
        assert before.partition("Press")[0] == after.partition("Press")[0]
        assert before.splitlines()[-1] == after.splitlines()[-1]
    assert len(charts(page)) == len(drawn)


OWN = {
    "attention_cost": (
        "attnlab.ui.lessons.costs_panel.measure_attention",
        lambda of_example: CostProgress(
            1.0, "", tuple(each for each in of_example.measured if each.length == 64), 1e-7
        ),
    ),
    "sweep": (
        "attnlab.ui.lessons.sweep_panel.run_sweep",
        lambda of_example: SweepProgress(1.0, "", of_example.tracks[:2]),
    ),
    "compare": (
        "attnlab.ui.compare.work.compare",
        lambda of_example: ComparisonProgress(of_example.runs[:5], share=1.0),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_a_result_of_the_users_own_takes_its_place(name, monkeypatch):
    work, own = OWN[name]
    result = own(shipped_example(name).result)
    monkeypatch.setattr(work, lambda *_, **__: iter([result]))
    page = _open(OTHERS[name][0])
    before = example_notes(page)
    page.button(key=f"{name}_start").click().run()
    assert page.session_state["session"].jobs.get(name).wait(30.0)
    page.run()
    assert not page.exception
    assert not page.error
    assert len(example_notes(page)) == len(before) - 1
    assert charts(page)


@pytest.mark.parametrize(
    ("name", "nothing"),
    [("attention_cost", CostProgress(0.1, "", (), 0.0)), ("compare", ComparisonProgress())],
)
def test_the_example_stays_until_there_is_a_first_result(name, nothing, monkeypatch):
    page = _open(OTHERS[name][0])
    drawn, work = charts(page), OWN[name][0]
    with endless(monkeypatch, work, nothing):
        page.run()
        page.button(key=f"{name}_start").click().run()
        job = page.session_state["session"].jobs[name]
        first_item(job)
        page.run()
        assert not page.exception
        assert any(f"{LABEL}, until" in each.value for each in page.caption)
        # The sections of Compare below its curves are of finished comparisons.
        assert charts(page) == drawn[: len(charts(page))]
        assert charts(page)
        page.button(key=f"{name}_stop").click().run()
        assert job.wait(STOP_PATIENCE)
        assert not any(f"{LABEL}, until" in each.value for each in page.run().caption)


@pytest.fixture
def other_file(tmp_path, monkeypatch):
    """Where the program looks for its examples."""
    monkeypatch.setattr(examples, "FILE", str(tmp_path / "examples.json"))
    shipped_example.cache_clear()
    yield tmp_path / "examples.json"
    shipped_example.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "text"),
    [(COMPARE, None), (COMPARE, '{"compare": {"made": {}}}'), (COSTS, "{}"), (SOFTMAX, '{"sw')],
)
def test_without_the_file_a_page_says_so_and_works(other_file, page, text):
    if text is not None:
        other_file.write_text(text, encoding="utf-8")
    page = _open(page)
    assert not page.error
    assert "Install attnlab again" in page.warning[0].value
    assert not example_notes(page)
    assert notes(page)


def test_without_the_run_the_page_says_so_and_offers_to_train(tmp_path, monkeypatch):
    monkeypatch.setattr(examples, "RUN_FILES", {"recall": str(tmp_path / "example.run")})
    example_run.clear()
    page = open_page("pages/look_inside.py")
    assert "Install attnlab again" in page.warning[0].value
    assert page.button(key="run_start")


@pytest.mark.slow
def test_compare_opens_with_a_question_and_a_link_with_its_own_choice():
    page = open_page(COMPARE)
    assert page.multiselect(key="vary_model").value == ["linear", "attention", "transformer"]
    assert "3 settings × 5 seeds = 15 runs" in texts(page)
    assert not any(button.key == "compare_back" for button in page.button)
    table = page.dataframe[0].value
    assert list(table["n"]) == ["5 of 5"] * 3
    # Not of the same settings any more, with a way to them.
    page.number_input(key="steps").set_value(30).run()
    assert example_notes(page)
    page.button(key="compare_back").click().run()
    assert page.number_input(key="steps").value == 2_000
    empty = open_page(COMPARE, {"v": "2", "seeds": "5"})
    assert empty.multiselect(key="vary_model").value == []


@pytest.mark.slow
def test_the_examples_are_what_the_pages_begin_with():
    page = {name: _open(path) for name, path in (("costs", COSTS), ("softmax", SOFTMAX))}
    costs, softmax = page["costs"], page["softmax"]
    d_attn, longest, passes = shipped_example("attention_cost").of
    assert costs.select_slider(key="cost_d_attn").value == d_attn
    assert costs.select_slider(key="cost_longest").value == longest
    assert costs.segmented_control(key="cost_passes").value == passes
    options, longest, _ = shipped_example("generation_cost").of
    assert costs.slider(key="cost_layers").value == options.layers
    assert costs.select_slider(key="cost_generated").value == longest
    sweep = shipped_example("sweep").of
    assert softmax.selectbox(key="sweep_process").value == sweep.experiment.generator.name
    assert softmax.slider(key="sweep_steps").value == sweep.experiment.training.steps
    assert softmax.slider(key="sweep_seeds").value == sweep.seeds


def test_what_is_shipped_is_possible():
    """Laws: no accuracy above the ceiling, no gap below 0, all scores in memory at once."""
    found = shipped_example("compare").result
    assert len(found.runs) == 15
    for run in found.runs:
        error = run.evaluation.accuracy_stderr
        assert run.state == "done"
        assert run.evaluation.accuracy < found.references.best.accuracy + 4 * error
    for track in shipped_example("sweep").result.tracks:
        assert track.gap.min() > 0
        assert np.isfinite(track.std).all()
    for one in shipped_example("attention_cost").result.measured:
        assert one.way != "plain" or one.scratch >= 4 * one.length**2
