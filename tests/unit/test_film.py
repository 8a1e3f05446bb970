"""The film of a run: its numbers are those of the run file, it is bounded, and text stays text."""

import base64
import dataclasses
import json
import re
from pathlib import Path
from urllib.parse import parse_qsl

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.film import (
    Words,
    film_of,
    film_page,
    frames,
    page_of,
    shipped_film,
    shipped_films,
    words_of,
)
from attnlab.generators import beliefs
from attnlab.inspection import MEASURES, final_probs
from attnlab.models import TransformerOptions
from attnlab.models.inside import trace_of
from attnlab.optimum import baselines_of, next_token, optimum, token_marginals
from attnlab.runs.history import empty_history, loss_curve
from attnlab.runs.links import from_query
from attnlab.runs.run import Run
from attnlab.runs.storage import from_bytes
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import Progress
from attnlab.training.loop import run as run_experiment
from attnlab.training.steps import Training
from tools.films import FOLDER, NAMES, SHIPPED

FROZEN = Path(__file__).parents[1] / "data" / "frozen"
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> & [a](javascript:b)'


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["transformer", "linear", "encoder-decoder"])
def run(request):
    return from_bytes((FROZEN / f"{request.param}.run").read_bytes())


@pytest.fixture(scope="module")
def film(run):
    return film_of(run)


def data_of(page):
    text = re.search(r'<script type="application/json">(.*?)</script>', page.decode())[1]
    return json.loads(text)


def test_every_number_is_that_of_the_run_file(run, film):
    data = data_of(film_page(film, Words()))
    checkpoints, tests = dict(run.history.checkpoints), dict(run.history.tests)
    assert [frame["step"] for frame in data["frames"]] == [*checkpoints]
    training, test = data["curves"]
    assert test["points"] == [[step, round(test.nll, 5)] for step, test in tests.items()]
    losses = loss_curve(run.history)
    assert training["points"] == [
        [step, pytest.approx(nats, abs=1e-5)] for step, nats in zip(*losses, strict=True)
    ]
    experiment = run.experiment
    floor = optimum(experiment.generator, experiment.length).final.nll
    (_, guess, _), *simple, (_, least, _) = data["levels"]
    assert (guess, least) == pytest.approx((np.log(experiment.generator.vocabulary.size), floor))
    # Between them is the best simple predictor, unless it is as good as one of them.
    known = {
        each.name: each.best.nll for each in baselines_of(experiment.generator, experiment.length)
    }
    assert [nats for _, nats, _ in simple] == [pytest.approx(known[name]) for name, *_ in simple]
    tokens = film.scene.sequence.tokens
    for frame, model in zip(data["frames"], checkpoints.values(), strict=True):
        test = tests[frame["step"]]
        assert f"{test.nll:.2f}"[:3] in frame["caption"]
        if not film.scene.is_attention:
            continue
        maps = [row for each in trace_of(model, tokens).attention for row in each.pattern]
        masks = [each.mask for each in film.scene.maps]
        for found, cells, pattern, mask in zip(
            data["maps"], frame["maps"], maps, masks, strict=True
        ):
            places = np.ix_(found["rows"], found["keys"])
            drawn = np.frombuffer(base64.b64decode(cells), np.uint8).reshape(mask[places].shape)
            # Whole percents, and 255 where the mask admits nothing.
            assert set(drawn[~mask[places]]) <= {255}
            exact = 100 * pattern[places][mask[places]]
            np.testing.assert_allclose(drawn[mask[places]], exact, atol=0.5001)


def test_the_truth_is_that_of_the_process(run, film):
    process, (_, sequence, truth, *_) = run.experiment.generator, film.scene
    if not process.prompt_length():
        exact = next_token(process, sequence.tokens.tolist())
        np.testing.assert_allclose(truth, exact, atol=1e-6)
    assert truth.sum() == pytest.approx(1, abs=1e-6)
    assert [frame.probs.sum() for frame in film.frames] == pytest.approx([1] * len(film.frames))


def test_a_film_is_the_same_bytes_twice_and_its_link_opens_the_run(run, film):
    words = words_of(film, name="a", version="0.2.0", address="https://example.org/lab/")
    page = film_page(film, words)
    assert page == film_page(film_of(run), words)
    assert words.link.startswith("https://example.org/lab/?v=2")
    query = dict(parse_qsl(words.link.partition("?")[2]))
    assert from_query(query).experiment == run.experiment


def test_text_of_users_stays_text(film):
    page = film_page(film, Words(title=HOSTILE, footer=(HOSTILE,), made=HOSTILE)).decode()
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert data_of(page.encode())["footer"] == [HOSTILE]
    # Nothing is fetched, whatever it says.
    assert "default-src 'none'" in page


@pytest.mark.parametrize(("cells", "rows"), [(100_000, None), (1_000, None), (70, 1)])
def test_what_a_film_holds_is_bounded_and_it_says_what_it_leaves_out(monkeypatch, cells, rows):
    run = from_bytes((FROZEN / "transformer.run").read_bytes())
    models = [model for _, model in run.history.checkpoints]
    kept = tuple((step, models[-1]) for step in range(100))
    run = run._replace(history=dataclasses.replace(run.history, checkpoints=kept))
    monkeypatch.setattr(frames, "_MOST_CELLS", cells)
    monkeypatch.setattr(frames, "_FEWEST_FRAMES", 2)
    film = film_of(run)
    maps, steps = film.scene.maps, [frame.step for frame in film.frames]
    count = sum(each.mask.size for each in maps)
    assert len(steps) * count <= cells or len(steps) == 2
    assert (steps[0], steps[-1]) == (0, 99)
    assert (f"shows {len(steps)} of 100" in film.left_out) == (len(steps) < 100)
    assert rows is None or {len(each.rows) for each in maps} == {rows}


def test_the_influence_of_a_model_without_heads_is_what_resampling_a_token_changes():
    run = from_bytes((FROZEN / "linear.run").read_bytes())
    film, experiment, model = film_of(run), run.experiment, run.history.checkpoints[-1][1]
    tokens, readout = film.scene.sequence.tokens, experiment.training.readout
    marginals = token_marginals(experiment.generator, experiment.length)
    before, changes = final_probs(model, tokens[None], readout)[0], []
    for key, chances in enumerate(marginals):
        replaced = np.tile(tokens, (len(chances), 1))
        replaced[:, key] = range(len(chances))
        moved = np.abs(final_probs(model, replaced, readout) - before).sum(axis=1) / 2
        changes.append(chances @ moved)
    (found,) = film.frames[-1].patterns
    np.testing.assert_allclose(found[0], changes, atol=1e-5)


def test_beliefs_are_those_of_the_process_and_of_a_probe():
    run, setup = _trained(process="mess3", length=4)
    film = film_of(run)
    data = data_of(film_page(film, Words()))
    r2 = MEASURES["belief_r2"].estimate(run.state.model, setup)
    last = data["measured"][-1]
    found = re.fullmatch(r"model, at the output: R² ([\d.]+)", last["title"])
    assert last["step"] == 2
    assert float(found[1]) == pytest.approx(r2.value, abs=0.005)
    exact = _points(data["subject"]["exact"])
    assert len(exact) == len(base64.b64decode(data["subject"]["colours"])) / 3 == 3 + 9 + 27 + 81
    assert "the 120 possible pasts of up to 4 tokens" in data["subject"]["words"]
    # Few tokens have the order of the alphabet, whatever their probabilities.
    assert data["likely"] == ["A", "B", "C"]
    assert data["truth"] != sorted(data["truth"], reverse=True)
    # The belief after the first token alone, in the triangle of the states.
    process = run.experiment.generator
    after_one = np.exp(np.asarray(beliefs(process, jnp.asarray([0]))))[-1]
    triangle = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    assert np.abs(exact - after_one @ triangle).sum(axis=1).min() < 1e-4
    # In the same plane, the probe is as far from the exact beliefs as its R² says.
    of_model = next(reversed(film.measured[2].values())).predicted @ triangle
    np.testing.assert_allclose(_points(last["points"]), of_model.clip(-0.1, 1.1), atol=1e-4)


def _points(packed):
    """The coordinates that the player draws."""
    found = np.frombuffer(base64.b64decode(packed), "<u2").reshape(-1, 2)
    return found / 65_535 * 1.2 - 0.1


def _trained(**of):
    """A run of two steps and its setup."""
    experiment = Experiment(
        generator=of["process"],
        model=TransformerOptions(layers=1, heads=1, d_model=8, mlp_width=8),
        length=of["length"],
        training=Training(steps=2, loss="next", data="fresh", batch=20, test_size=100),
    )
    setup, history = prepare(experiment), empty_history()
    for event in run_experiment(experiment, setup=setup):
        history = history.after(event)
        if isinstance(event, Progress):
            state = event.state
    return Run(experiment, state, history), setup


def test_what_only_the_model_finds_likely_is_named_too():
    film = film_of(_trained(process="modular-addition", length=3)[0])
    (*_, last), truth = film.frames, film.scene.truth
    rare, (often, *_) = int(truth.argmin()), np.argsort(-truth)
    probs = np.full(truth.size, 0.001)
    probs[rare] = 1 - probs.sum() + probs[rare]
    data = data_of(film_page(film._replace(frames=(last._replace(probs=probs),)), Words()))
    (frame,), symbols = data["frames"], film.scene.experiment.generator.vocabulary.symbols
    assert symbols[rare] not in data["likely"]
    listed = dict(
        zip(frame["likely"], zip(frame["truth"], frame["probs"], strict=True), strict=True)
    )
    assert len(listed) <= 5
    assert listed[symbols[rare]] == pytest.approx((truth[rare], probs[rare]), abs=1e-3)
    assert listed[symbols[often]] == pytest.approx((truth[often], 0.001), abs=1e-3)


def test_beliefs_of_two_states_are_drawn_by_position():
    run, _ = _trained(process="golden-mean", length=5)
    exact = _points(data_of(film_page(film_of(run), Words()))["subject"]["exact"])
    assert set(exact[:, 1].round(2)) == {0.9, 0.7, 0.5, 0.3, 0.1}


def test_losses_by_position_are_those_of_exact_predictions():
    run, _ = _trained(process="in-context-markov", length=12)
    data, process = data_of(film_page(film_of(run), Words())), run.experiment.generator
    subject, last = data["subject"], data["measured"][-1]
    curves = dict(subject["curves"])
    assert subject["places"] == list(range(2, 14))
    assert curves["uniform"] == pytest.approx([np.log(process.vocabulary.size)] * 12, abs=1e-3)
    # No model is below the exact prediction, which falls.
    optimal = np.array(next(nats for name, nats in curves.items() if name.startswith("optimal")))
    assert (np.array(last["nats"]) >= optimal - 1e-4).all()
    assert optimal[-1] < optimal[0]
    # Drawn from other sequences, the last one is the floor within its error.
    floor = optimum(process, 12).final
    assert optimal[-1] == pytest.approx(floor.nll, abs=0.06)


def test_a_run_that_diverged_has_a_film_and_one_that_was_never_tested_has_none():
    run = from_bytes((FROZEN / "transformer.run").read_bytes())
    step, test = run.history.tests[-1]
    worse = test._replace(nll=float("inf"), nll_stderr=float("nan"), excess=None)
    broken = jax.tree.map(lambda leaf: leaf * float("nan"), run.history.checkpoints[-1][1])
    kept = (*run.history.checkpoints[:-1], (step, broken))
    history = dataclasses.replace(
        run.history, tests=(*run.history.tests[:-1], (step, worse)), checkpoints=kept
    )
    data = data_of(film_page(film_of(run._replace(history=history)), Words()))
    assert set(data["frames"][-1]["probs"]) == {None}
    assert data["frames"][-1]["learned"] == "worse than guessing"
    assert len(data["curves"][1]["points"]) == len(run.history.tests) - 1
    with pytest.raises(OptionError, match="never tested"):
        film_of(run._replace(history=dataclasses.replace(history, tests=())))


def test_films_are_shipped_of_the_presets_that_are_made():
    assert {file.stem for file in shipped_films().values()} == set(SHIPPED)


@pytest.mark.parametrize("name", NAMES)
def test_a_film_of_the_documentation_has_the_player_of_today(name):
    page = (FOLDER / f"{name}.html").read_bytes()
    data = data_of(page)
    assert page == page_of(data, data["title"])


@pytest.mark.parametrize("experiment", shipped_films())
def test_a_shipped_film_is_one_of_today_and_of_its_preset(experiment):
    shipped, steps = shipped_film(experiment), experiment.training.steps
    run = from_bytes((FROZEN / "transformer.run").read_bytes())
    # What the player of today reads.
    wanted = data_of(film_page(film_of(run), Words())).keys() - Words()._asdict().keys()
    assert wanted <= shipped.keys()
    assert wanted == shipped.keys() - {"subject", "measured"}
    assert (shipped["frames"][0]["step"], shipped["frames"][-1]["step"]) == (0, steps)
    (_, guess, _), *_, (_, floor, _) = shipped["levels"]
    assert guess == pytest.approx(np.log(experiment.generator.vocabulary.size))
    known = optimum(experiment.generator, experiment.length).final
    assert floor == pytest.approx(known.nll, abs=4 * known.nll_stderr + 1e-9)
    assert floor - 0.05 < shipped["curves"][1]["points"][-1][1] < 0.9 * guess
