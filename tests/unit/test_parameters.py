"""How many parameters a model has, in all and by part."""

import dataclasses

import pytest

from attnlab.models import (
    AttentionOptions,
    ConvOptions,
    GRUOptions,
    LinearOptions,
    LSTMOptions,
    MLPOptions,
    RNNOptions,
    SSMOptions,
    TransformerOptions,
    parameter_count,
    parameters_by_part,
)
from attnlab.positions import POSITIONS
from tests.unit.model_settings import MODELS_IN_ALL_SETTINGS, VOCAB, build

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize(("length", "d_attn"), [(2, 6), (10, 1)])
def test_counts_of_parameters(length, d_attn):
    def count(options):
        return parameter_count(build(options, length=length))

    d_in = {"none": 3, "scalar": 4, "sinusoidal": 3 + 8}
    for name, width in d_in.items():
        options = AttentionOptions(d_attn=d_attn, position=POSITIONS[name]())
        assert count(options) == (width + 1) * (2 * d_attn + VOCAB)
    learned = (3 + 8 + 1) * (2 * d_attn + VOCAB) + length * 8
    assert count(AttentionOptions(d_attn=d_attn)) == learned
    added = (8 + 1) * (2 * d_attn + VOCAB) + length * 8 + VOCAB * 8
    assert count(AttentionOptions(d_attn=d_attn, embedding="learned")) == added
    layer = 4 * (24 * 24 + 24) + (24 * 48 + 48) + (48 * 24 + 24) + 2 * 2 * 24
    stack = VOCAB * 24 + length * 24 + 3 * layer + 2 * 24 + (24 + 1) * VOCAB
    assert count(TransformerOptions(layers=3)) == stack
    assert count(GRUOptions(hidden_size=7)) == 3 * 7 * (VOCAB + 7 + 1) + 7 + (7 + 1) * VOCAB
    assert count(LSTMOptions(hidden_size=7)) == 4 * 7 * (VOCAB + 7 + 1) + (7 + 1) * VOCAB
    assert count(RNNOptions(hidden_size=7)) == 7 * (VOCAB + 7 + 1) + (7 + 1) * VOCAB
    state_space = 7 + 7 * (VOCAB + 1)
    assert count(SSMOptions(hidden_size=7, mlp_width=0)) == state_space + (7 + 1) * VOCAB
    wide = SSMOptions(hidden_size=7, mlp_width=5)
    assert count(wide) == state_space + 5 * (7 + 1) + (5 + 1) * VOCAB
    stack = VOCAB * 8 + 3 * (4 * 8 * 8 + 8) + (8 + 1) * VOCAB
    assert count(ConvOptions(layers=3, kernel_size=4, d_model=8)) == stack
    perceptron = 6 * (VOCAB * length + 1) + 6 * (6 + 1) + (6 + 1) * VOCAB
    assert count(MLPOptions(layers=2, mlp_width=6)) == perceptron
    assert count(LinearOptions()) == (3 * length + 1) * VOCAB
    assert count(LinearOptions(day_feature="with")) == (4 * length + 1) * VOCAB


@pytest.mark.parametrize("setting", MODELS_IN_ALL_SETTINGS)
@pytest.mark.parametrize("length", [2, 7])
def test_every_part_has_as_many_parameters_as_its_formula_says(setting, length):
    options = MODELS_IN_ALL_SETTINGS[setting]
    parts = parameters_by_part(options, vocab=VOCAB, length=length)
    names = {**dataclasses.asdict(options), "vocab": VOCAB, "length": length}
    for part in parts:
        said = eval(part.formula.replace("×", "*"), {"__builtins__": {}}, names)
        assert part.count == said, part
    assert {part.part for part in parts} == set(options.parameter_formulas())
    assert sum(part.count for part in parts) == parameter_count(build(options, length=length))
