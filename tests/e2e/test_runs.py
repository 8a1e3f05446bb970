"""Runs side by side, the step that all panels show, and settings changed on the way."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def _again(bench, key: str, value: object) -> None:
    bench.fill(key, value)
    expect(bench.button("start")).to_contain_text("Train with changes")
    bench.press("start")
    bench.wait_for("running", "compiling")
    bench.wait_for("done")


def _legend(bench) -> list[str]:
    labels = bench.part("chart_loss").locator(".role-legend-label text")
    expect(labels.first).to_be_attached()
    return labels.all_text_contents()


def test_runs_before_stay_on_the_chart_and_come_back(bench):
    bench.fill("steps", 60)
    bench.press("start")
    bench.wait_for("done")
    first_loss = bench.figure("test loss (nats)")
    _again(bench, "learning_rate", 0.05)
    expect(bench.part("chart_loss")).to_contain_text("brisk otter")
    bench.open_panel("runs")
    bench.choose_run(0)
    bench.part("run_hide").get_by_role("button").click()
    expect(bench.part("chart_loss")).not_to_contain_text("brisk otter")
    bench.part("run_return").get_by_role("button").click()
    expect(bench.metric("test loss (nats)")).to_have_text(first_loss)
    assert bench.wait_for("done").step == 60
    expect(bench.field("learning_rate")).to_have_value("0.005")
    expect(bench.part("chart_loss")).to_contain_text("calm finch")


def test_a_run_is_renamed_and_deleted(bench):
    bench.press("step")
    bench.wait_for("paused")
    bench.press("reset")
    bench.wait_for("idle")
    bench.press("step")
    bench.wait_for("paused")
    bench.open_panel("runs")
    bench.choose_run(0)
    name = bench.part("run_actions").get_by_label("name")
    name.fill("the first")
    name.press("Enter")
    expect(bench.part("chart_loss")).to_contain_text("the first")
    bench.part("run_delete").get_by_role("button").click()
    expect(bench.part("chart_loss")).not_to_contain_text("the first")
    assert _legend(bench) == ["training", "test", "known"]


def test_repeated_seeds_are_counted_until_all_are_there(bench):
    bench.fill("steps", 60)
    bench.finish_default_run()
    # Nothing is awaited any more, so that no timer of something else redraws the page.
    bench.metric("majority class").wait_for()
    bench.settle()
    bench.part("run_repeat").get_by_role("button").click()
    expect(bench.part("seeds")).to_contain_text("over 5 seeds accuracy")


def test_pointing_at_a_step_shows_it_in_every_panel(bench):
    bench.finish_default_run()
    at_the_end = bench.figure("test loss (nats)")
    box = bench.part("chart_loss").locator("svg.marks").bounding_box()
    # Over the first steps, where the loss is still high.
    bench.page.mouse.move(box["x"] + 75, box["y"] + box["height"] / 2)
    expect(bench.metric("test loss (nats)")).not_to_have_text(at_the_end)
    tooltip = bench.page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("step")
    expect(tooltip).to_contain_text("test (nats)")
    bench.page.mouse.move(box["x"] + 75, box["y"] - 150)
    expect(bench.metric("test loss (nats)")).to_have_text(at_the_end)


def test_a_paused_run_goes_on_with_another_rate(bench):
    bench.start_long_run()
    bench.press("pause")
    paused = bench.wait_for("paused")
    bench.fill("learning_rate", 0.001)
    bench.part("run_amend").get_by_role("button").click()
    bench.wait_for("running")
    assert bench.wait_for_step(paused.step + 1).steps == paused.steps
    expect(bench.part("run_amend")).to_have_count(0)
    expect(bench.part("chart_loss")).to_contain_text("✎")


def test_a_running_run_goes_on_at_once_with_another_batch(bench):
    bench.start_long_run()
    bench.fill("batch", 50)
    bench.part("run_amend").get_by_role("button").click()
    expect(bench.part("chart_loss")).to_contain_text("✎")
    bench.wait_for_step(bench.wait_for("running").step + 1)
