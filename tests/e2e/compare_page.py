"""The Compare page in one browser tab, with a comparison that is done in seconds."""

from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from attnlab.comparisons.grid import to_parameters
from attnlab.runs.links import Lesson, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

# Milliseconds that a few small programs may take to compile on a busy machine, and the best linear
# predictor to be found.
PATIENCE = 240_000
_SMALL = Experiment(length=3, training=Training(steps=20, train_size=100, test_size=200))
_VARIED = (("model", ("linear", "attention")), ("learning_rate", ("0.01", "0.1")))


def address(lesson: Lesson | None = None) -> str:
    """Two models and two learning rates, each with two seeds."""
    return f"compare?{urlencode(to_query(_SMALL, lesson) | to_parameters(_VARIED, 2))}"


def compare(page: Page) -> None:
    """Start what is chosen, and wait for its end and for all that is seen of it."""
    page.locator(".st-key-compare_start button").click()
    expect(page.locator(".st-key-compare_status")).to_contain_text(
        "done: 100% · 8 of 8", timeout=PATIENCE
    )
    expect(page.get_by_text("Variance explained")).to_be_visible(timeout=PATIENCE)
