"""Cards: what they hold, what a check finds, and what is no card."""

import dataclasses
import json
import re
from io import BytesIO
from urllib.parse import urlencode
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from attnlab.comparisons.grid import Grid, study_of
from attnlab.comparisons.many import run_all
from attnlab.generators import OwnSequences
from attnlab.known_results import KNOWN_RESULTS
from attnlab.result_card import (
    MOST_BYTES,
    CardError,
    card_from_json,
    card_of_comparison,
    card_of_known_result,
    card_of_run,
    card_to_json,
    check_card,
)
from attnlab.result_card.checking import DIFFERS, TO_THE_DIGIT, WITHIN
from attnlab.result_card.picture import card_png, card_svg
from attnlab.runs.history import empty_history
from attnlab.runs.links import to_query
from attnlab.runs.storage import Run
from attnlab.training.changes import Change
from attnlab.training.loop import Progress, evaluation_plan, run
from tests.unit.small_experiments import small

LINK = "http://localhost:8501/known_results#bottleneck"


def trained(experiment):
    history = empty_history()
    for event in run(experiment, plan=evaluation_plan(experiment.training.steps)):
        history = history.after(event)
        if isinstance(event, Progress):
            state = event.state
    return Run(experiment, state, history)


@pytest.fixture(scope="module")
def the_run():
    return trained(small(seed=3, steps=20))


@pytest.fixture(scope="module")
def cards(the_run):
    grid = Grid((("model", ("linear", "attention")),), seeds=2, base=small(steps=20))
    study = study_of(grid)
    labels = [setting.label for setting in study.settings]
    compared = card_of_comparison(list(run_all(study.runs)), study.settings, labels)
    known = card_of_known_result(KNOWN_RESULTS["bottleneck"], link=LINK)
    return {"run": card_of_run(the_run), "comparison": compared, "known result": known}


@pytest.mark.parametrize("kind", ["run", "comparison", "known result"])
def test_a_card_reads_back_as_it_was(cards, kind):
    card = cards[kind]
    assert card.kind == kind
    assert card_from_json(card_to_json(card)) == card


def test_the_card_of_a_run_has_its_last_test(cards, the_run):
    (setting,) = cards["run"].settings
    _, test = the_run.history.tests[-1]
    by_name = {measure.name: measure for measure in setting.measures}
    loss = by_name["nll"]
    assert (loss.value, loss.stderr) == (test.nll, test.nll_stderr)
    assert loss.high - loss.low == pytest.approx(2 * 1.959964 * test.nll_stderr)
    assert setting.curve == tuple((step, each.nll) for step, each in the_run.history.tests)


def test_the_card_of_a_comparison_has_means_and_their_errors(cards):
    for setting in cards["comparison"].settings:
        for measure in setting.measures:
            assert measure.value == pytest.approx(np.mean(measure.by_seed))
            assert measure.stderr >= np.std(measure.by_seed, ddof=1) / np.sqrt(2) * (1 - 1e-9)
            assert measure.low <= measure.value <= measure.high


def edited(card, errors=0.0, constant=0.0):
    """A card whose first number is changed, by so many of its standard errors and a constant."""
    first, *settings = card.settings
    measure, *others = first.measures
    value = measure.value + errors * measure.stderr + constant
    changed = dataclasses.replace(measure, value=value)
    first = dataclasses.replace(first, measures=(changed, *others))
    return dataclasses.replace(card, settings=(first, *settings))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["run", "comparison"])
def test_a_card_of_this_machine_agrees_to_the_last_digit(cards, kind):
    found = check_card(card_from_json(card_to_json(cards[kind])))
    assert (found.says, found.sentences) == (
        TO_THE_DIGIT,
        ("The card agrees to the last digit.",),
    )
    assert found.again.settings == cards[kind].settings


@pytest.mark.slow
def test_a_card_of_own_sequences_speaks_of_the_best_reference():
    letters = np.random.default_rng(0).choice([*"abc"], 3_000)
    process = OwnSequences(text="".join(letters))
    plain = dataclasses.replace(small(steps=20), generator=process)
    link = f"http://localhost:8501/?{urlencode(to_query(plain))}"
    card = card_of_run(trained(plain), link=link)
    # The link leaves out a text of this length.
    assert card_from_json(card_to_json(card)) == card
    assert check_card(card).says == TO_THE_DIGIT
    grid = Grid((("model", ("linear", "attention")),), seeds=2, base=plain)
    study = study_of(grid)
    labels = [setting.label for setting in study.settings]
    compared = card_of_comparison(list(run_all(study.runs)), study.settings, labels)
    for one in (card, compared):
        words = card_svg(one)
        assert "Best reference: loss" in words
        assert not re.search("floor|ceiling|best possible", words, re.IGNORECASE)
    (setting,) = card.settings
    floor = dataclasses.replace(setting.floor, nll=setting.floor.nll + 1)
    changed = dataclasses.replace(card, settings=(dataclasses.replace(setting, floor=floor),))
    assert "in best reference" in check_card(changed).sentences[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says", "words"),
    [
        ({"constant": 1e-6}, WITHIN, "farthest off by −1e−06"),
        ({"errors": 10}, DIFFERS, "−7.1 standard errors"),
        ({"errors": -10}, DIFFERS, "+7.1 standard errors"),
    ],
)
def test_a_changed_number_is_found(cards, change, says, words):
    found = check_card(edited(cards["run"], **change))
    first, hint = found.sentences
    assert found.says == says
    assert words in first
    assert "may have been changed" in hint


@pytest.mark.slow
def test_the_quantile_is_that_of_as_many_means_as_the_card_has(cards):
    # Two-sided at 5 % over three means: 1 − 0.05/6 of the normal distribution, times √2 errors.
    (setting,), limit = cards["run"].settings, 2.393980 * 2**0.5
    assert len(setting.measures) == 3
    for errors, says in ((limit - 0.01, WITHIN), (limit + 0.01, DIFFERS)):
        assert check_card(edited(cards["run"], errors)).says == says


@pytest.mark.slow
def test_another_sentence_or_floor_is_found(cards):
    card = cards["run"]
    other = check_card(dataclasses.replace(card, sentence="It learned everything."))
    assert (other.says, other.sentences[1]) == (
        DIFFERS,
        f"The sentence of the new runs: {card.sentence}",
    )
    (setting,) = card.settings
    floor = dataclasses.replace(setting.floor, nll=setting.floor.nll + 1e-3)
    setting = dataclasses.replace(setting, floor=floor)
    found = check_card(dataclasses.replace(card, settings=(setting,)))
    assert found.says == DIFFERS
    assert "in floor" in found.sentences[0]


def test_what_its_settings_do_not_repeat_has_no_card(the_run):
    changed = dataclasses.replace(
        the_run.history, changes=(Change(5, (("learning_rate", 0.1, 0.005),)),)
    )
    with pytest.raises(ValueError, match="its settings were changed during training"):
        card_of_run(the_run._replace(history=changed))
    longer = small(seed=3, steps=30)
    with pytest.raises(ValueError, match="it has made 20 of 30 steps"):
        card_of_run(the_run._replace(experiment=longer))


def _broken(change):
    def broken(text):
        record = json.loads(text)
        change(record)
        return json.dumps(record)

    return broken


def _put(*path, value):
    def put(record):
        for part in path[:-1]:
            record = record[part]
        record[path[-1]] = value

    return _broken(put)


FIRST = ("settings", 0)
EXPERIMENT = (*FIRST, "experiment")
MEASURE = (*FIRST, "measures", 0)
CONTRADICT = "The parts of this card contradict each other."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "This card is damaged or cut off: it is not JSON."),
        (lambda text: "days and nights", "This is not a card of attnlab: it is not JSON."),
        (lambda text: "[" * 100_000, "This is not a card of attnlab: it is not JSON."),
        (lambda text: "[]", "This is not a card of attnlab."),
        (lambda text: '{"version": 1}', "This is not a card of attnlab."),
        (lambda text: text + " " * MOST_BYTES, "This file has more than 2 MB, unlike any card."),
        (_put("version", value=2), "This card has the version 2, not 1."),
        (_put("version", value=True), "This card has the version True, not 1."),
        (_put("kind", value="table"), CONTRADICT),
        (_put("colour", value="red"), CONTRADICT),
        (_broken(lambda record: record.pop("sentence")), CONTRADICT),
        (_put("settings", value=[]), CONTRADICT),
        (_put("sentence", value=3), CONTRADICT),
        (_put("sentence", value="a\u202eb"), "U+202E in it is invisible"),
        (_put("link", value="javascript:alert(1)"), CONTRADICT),
        (_put("link", value="http://localhost/?v=2&seed=99"), CONTRADICT),
        (_put(*FIRST, "seeds", value=[1, 2]), CONTRADICT),
        (_put(*FIRST, "seeds", value=[4]), CONTRADICT),
        (_put(*FIRST, "curve", value=[]), CONTRADICT),
        (_put(*FIRST, "measures", value=[]), CONTRADICT),
        (_put(*FIRST, "floor", "nll", value="low"), CONTRADICT),
        (_put(*MEASURE, "value", value=1e999), CONTRADICT),
        (_put(*MEASURE, "by_seed", value=[0.5]), CONTRADICT),
        (_put(*MEASURE, "by_seed", value=[0.5, 0.5]), CONTRADICT),
        (_put(*MEASURE, "low", value=None), CONTRADICT),
        (_put(*MEASURE, "name", value="beauty"), "the measure 'beauty', which is not known here."),
        (_put(*EXPERIMENT, "generator", "name", value="tides"), "needs the generator 'tides'"),
        (_put(*EXPERIMENT, "model", "name", value="oracle"), "needs the model 'oracle'"),
        (_put(*EXPERIMENT, "model", "sparkle", value=1), "`sparkle` is 1"),
        (_put(*EXPERIMENT, "training", "batch", value=0), "`batch` is 0"),
        (_put(*EXPERIMENT, "version", value=9), "`version` is 9"),
    ],
)  # fmt: skip
def test_what_is_no_card_is_refused_in_a_sentence(cards, change, words):
    with pytest.raises(CardError) as refused:
        card_from_json(change(card_to_json(cards["run"])))
    message = str(refused.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_put("name", value="perpetual motion"), "which is not known here. See `attnlab reproduce"),
        (_put(*FIRST, "seeds", value=[10, 11, 12, 13, 15]), CONTRADICT),
        (_put(*EXPERIMENT, "training", "steps", value=7), "are not those of the result bottleneck"),
    ],
)
def test_a_known_result_has_its_own_settings(cards, change, words):
    with pytest.raises(CardError, match=re.escape(words)):
        card_from_json(change(card_to_json(cards["known result"])))


@pytest.mark.parametrize("kind", ["run", "comparison", "known result"])
def test_the_picture_has_the_sentence_and_the_numbers(cards, kind):
    card = cards[kind]
    root = ElementTree.fromstring(card_svg(card))
    assert (root.get("width"), root.get("height")) == ("1280", "720")
    words = " ".join(text.text for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert card.sentence.replace("`", "") in words
    assert "seed" in words
    assert "attnlab 0" in words
    if kind == "run":
        assert f"{card.settings[0].measures[0].value:.4f}" in words
    with Image.open(BytesIO(card_png(card))) as picture:
        assert picture.size == (2560, 1440)
        # White at the edge: nothing reaches beyond it.
        edge = np.asarray(picture.convert("L"))
        assert edge[:, -40:].min() == edge[-12:].min() == 255


@pytest.mark.parametrize("part", ["b", "%2C5", "W"])
def test_long_texts_are_wrapped_or_shortened(cards, part):
    sentence, link = "Much was learned. " * 60, "http://a/" + part * 3_000
    card = dataclasses.replace(cards["run"], sentence=sentence, link=link)
    with Image.open(BytesIO(card_png(card))) as picture:
        edge = np.asarray(picture.convert("L"))
        assert edge[:, -40:].min() == edge[-12:].min() == 255
