"""Scripts that the app wrote, and code that it showed, still run and give the same figures."""

import importlib
import runpy
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import sample
from attnlab.optimum import optimum

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
