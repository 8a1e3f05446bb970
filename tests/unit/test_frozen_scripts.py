"""Scripts that version 0.1.0 wrote, and code that it showed, still run and give its figures."""

import importlib
import runpy
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import attnlab
from attnlab import Copy, Experiment, Markov, Training, evaluate, prepare
from attnlab.generators import sample
from attnlab.optimum import optimum
from attnlab.runs.run_summary import RunSummary

_FOLDER = Path(__file__).with_name("frozen_scripts")
# Loss, accuracy and their standard errors, as that version gave them on a CPU. The error of the
# loss is now from the sample variance, which divides by the 500 sequences minus 1.
_SAMPLE = (500 / 499) ** 0.5
FIGURES = {
    "attention_with_changes.py": (
        1.0607328146696091,
        0.012327418200067157 * _SAMPLE,
        0.44,
        0.02219909908,
    ),
    "published_linear.py": (
        1.1536649014772846,
        0.05209209767080221 * _SAMPLE,
        0.538,
        0.02229600861,
    ),
}
EARLIER_NAMES = {
    "attention.head": "attnlab.attention",
    "changes": "attnlab.training.changes",
    "experiment": "attnlab.training.experiment",
    "geometry": "attnlab.lessons.geometry",
    "kernel_regression": "attnlab.lessons.kernel_regression",
    "learned_kernel": "attnlab.lessons.learned_kernel",
    "models.edits": "attnlab.models.inside",
    "models.initialisation": "attnlab.models.parts",
    "number_text": "attnlab.configuration.number_text",
    "options": "attnlab.configuration.options",
    "positions.base": "attnlab.positions",
    "regression_data": "attnlab.lessons.regression_data",
    "saturation": "attnlab.lessons.saturation",
    "scores": "attnlab.attention",
    "stages": "attnlab.lessons.stages",
    "sweep": "attnlab.lessons.sweep",
    "vocabulary": "attnlab.generators.vocabulary",
}


def run_frozen(name):
    return runpy.run_path(str(_FOLDER / name))


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_frozen_script_gives_the_same_figures(name, capsys):
    test = run_frozen(name)["test"]
    figures = [getattr(test, part) for part in ("nll", "nll_stderr", "accuracy", "accuracy_stderr")]
    # Float arithmetic may be ordered otherwise; a sequence of the 500 is 0.002.
    np.testing.assert_allclose(figures, FIGURES[name], rtol=1e-4, atol=1e-5)
    assert capsys.readouterr().out.startswith("step ")


def test_a_frozen_generator_works():
    turns = run_frozen("own_generator.py")["Turns"](noise=0.2)
    assert optimum(turns, 5).final.accuracy == pytest.approx(0.8)
    assert sample(turns, key=jr.key(0), size=3, length=5).shape == (3, 5)


@pytest.mark.parametrize("earlier", EARLIER_NAMES)
def test_a_module_by_its_earlier_name_is_the_same_module(earlier):
    module = importlib.import_module(EARLIER_NAMES[earlier])
    assert importlib.import_module(f"attnlab.{earlier}") is module


@pytest.mark.parametrize(
    ("earlier", "kind"),
    [
        ("attnlab.Look", attnlab.EvaluationEvent),
        ("attnlab.training.loop.Look", attnlab.EvaluationEvent),
        ("attnlab.runs.library.Entry", RunSummary),
        ("attnlab.runs.result.Result", RunSummary),
    ],
)
def test_a_class_by_its_earlier_name_is_the_same_class(earlier, kind):
    module, _, name = earlier.rpartition(".")
    assert getattr(importlib.import_module(module), name) is kind


def test_a_process_with_methods_by_their_earlier_names_is_the_same_process():
    class Earlier(Markov):
        def given(self):
            return 2

    class Masked(Markov):
        def asked(self, tokens):
            return tokens == 1

    process = Earlier()
    assert process.prompt_length() == process.given() == 2
    assert process.loss_mask(jnp.arange(4)).tolist() == [False, False, True, True]
    assert Masked().has_loss_mask()
    assert Masked().asks_several()
    assert Masked().loss_mask(jnp.arange(3)).tolist() == [False, True, False]
    assert not Markov().has_loss_mask()


@pytest.mark.slow
def test_the_earlier_names_of_a_loss_mask_give_the_same_test():
    small = Training(loss="next", steps=1, test_size=100)
    setup = prepare(Experiment(generator=Copy(), training=small))
    assert setup.asked is setup.loss_mask
    assert setup.given == setup.prompt_length > 0
    model = setup.state.model
    now = evaluate(model, setup.test, readout="last", loss_mask=setup.loss_mask)
    assert evaluate(model, setup.test, readout="last", asked=setup.asked) == now
    assert evaluate(model, setup.test, readout="last", given=setup.given) == now


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("attnlab.attention", "MASKS SCALES Attended attend masked_softmax scale_factor"),
        ("attnlab.live", "LiveRun"),
        ("attnlab.training", "Change Evaluation Training advance evaluate"),
    ],
)
def test_a_module_that_became_a_package_has_what_people_import(package, names):
    assert set(names.split()) <= vars(importlib.import_module(package)).keys()
