"""Families that read a source: what they compute, what they do not see, and what they write."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.comparisons.many import carry_out, carry_out_text, result_from
from attnlab.configuration.options import OptionError
from attnlab.generators import Cards, Reverse
from attnlab.inspection.decoding import write_beam, write_target
from attnlab.inspection.targets import check_targets
from attnlab.models import (
    HIDDEN_STATES,
    SOURCE_MODELS,
    EncoderDecoderOptions,
    RNNAttentionOptions,
    RNNBottleneckOptions,
    TransformerOptions,
    alignment_of,
)
from attnlab.models.inside import mean_trace, trace_of
from attnlab.positions import Rotary, Scalar
from attnlab.testing import check_model
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, prepare, to_json
from attnlab.training.loop import train
from attnlab.training.steps import Training
from tests.unit.model_settings import SOURCE, drawn
from tests.unit.source_model_oracles import encoded_rnn_forward, encoder_decoder_forward

pytestmark = pytest.mark.usefixtures("quickly_compiled")

VOCAB, TARGET = 4, 3
LENGTH = SOURCE + TARGET - 1
TOKENS = (2, 0, 3, 1, 0)
# Op by op each part of a model would compile alone.
build = functools.cache(eqx.filter_jit(functools.partial(drawn, vocab=VOCAB)))
SETTINGS = {
    "encoder-decoder": EncoderDecoderOptions(layers=2, heads=2, d_attn=2, d_model=4, mlp_width=5),
    **{
        f"rnn-bottleneck {cell}": RNNBottleneckOptions(hidden_size=3, cell=cell)
        for cell in ("tanh", "lstm")
    },
    **{
        f"rnn-attention {cell} {score}": RNNAttentionOptions(
            hidden_size=3, d_attn=2, cell=cell, score=score
        )
        for cell, score in (("tanh", "additive"), ("gru", "dot"), ("lstm", "scaled"))
    },
}
ONE_EACH = ("encoder-decoder", "rnn-bottleneck tanh", "rnn-attention tanh additive")
every_setting = pytest.mark.parametrize("setting", SETTINGS)


def test_every_family_has_a_setting():
    assert {type(options) for options in SETTINGS.values()} == set(SOURCE_MODELS.values())


@pytest.mark.slow
@every_setting
def test_a_model_agrees_with_a_forward_pass_in_float64(setting):
    model = build(SETTINGS[setting])
    forward = encoder_decoder_forward if "encoder" in setting else encoded_rnn_forward
    expected, patterns = forward(model, TOKENS[:SOURCE], TOKENS[SOURCE:])
    logits, trace = eqx.filter_jit(model.write)(*_rows(TOKENS))
    np.testing.assert_allclose(logits, expected, atol=5e-5)
    assert len(trace.attention) == len(patterns)
    for found, pattern in zip(trace.attention, patterns, strict=True):
        np.testing.assert_allclose(found.pattern, pattern, atol=2e-5)
    # The whole sequence gives the same: rows of the target begin at the source's last token.
    whole, _ = eqx.filter_jit(model)(jnp.array(TOKENS), jnp.array([SOURCE - 1, LENGTH - 1]))
    np.testing.assert_allclose(whole, expected[[0, -1]], atol=5e-5)
    alignment = eqx.filter_eval_shape(alignment_of, model, jnp.array(TOKENS))
    for found, pattern in zip(alignment, patterns[-1:], strict=False):
        assert found.shape[1:] == np.shape(pattern)[1:]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ONE_EACH)
def test_a_model_holds_the_laws(setting):
    check_model(SETTINGS[setting], vocab=VOCAB, tokens=TOKENS, source=SOURCE)


OTHER_POSITIONS = {
    "rotary": EncoderDecoderOptions(d_attn=2, d_model=4, mlp_width=0, position=Rotary()),
    "beside": EncoderDecoderOptions(
        d_attn=2, d_model=4, mlp_width=3, position=Scalar(), normalisation="post"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*ONE_EACH, *OTHER_POSITIONS])
def test_token_after_token_a_model_predicts_what_it_does_at_once(setting):
    model = build((SETTINGS | OTHER_POSITIONS)[setting])
    source, written = _rows(TOKENS)
    expected, _ = eqx.filter_jit(model.write)(source, written)
    memory, after = eqx.filter_jit(model.begin)(source, TARGET), eqx.filter_jit(model.next)
    for row, token in zip(expected, [jnp.zeros(VOCAB), *written], strict=True):
        logits, memory = after(memory, token)
        np.testing.assert_allclose(logits, row, atol=1e-5)


@pytest.mark.slow
def test_more_than_a_model_was_made_for_is_refused():
    model, (source, _) = build(SETTINGS[ONE_EACH[0]]), _rows(TOKENS)
    with pytest.raises(OptionError, match=r"`count` is 4: .*Choose 3 or fewer"):
        write_target(model, jnp.array(TOKENS[:SOURCE]), count=4)
    with pytest.raises(OptionError, match=r"`source` is 6: .*Choose 3 or fewer"):
        model.begin(jnp.concatenate([source, source]), 1)


def _rows(tokens):
    one_hot = jax.nn.one_hot(jnp.array(tokens), VOCAB)
    return one_hot[:SOURCE], one_hot[SOURCE:]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ONE_EACH)
def test_a_trace_stands_among_all_visible_tokens(setting):
    model = build(SETTINGS[setting])
    trace = trace_of(model, np.array(TOKENS))
    natural = eqx.filter_jit(model.write)(*_rows(TOKENS))[1]
    for found, own in zip(trace.attention, natural.attention, strict=True):
        assert found.pattern.shape[1:] == found.mask.shape == (LENGTH, LENGTH)
        rows = found.pattern.sum(axis=-1)
        np.testing.assert_allclose(rows, np.tile(found.mask.any(axis=1), (len(rows), 1)), atol=1e-6)
        assert found.pattern.sum() == pytest.approx(float(own.pattern.sum()), abs=1e-5)
        if found.kind == "cross":
            np.testing.assert_allclose(found.pattern[:, SOURCE - 1 :, :SOURCE], own.pattern)
    assert all(values.shape[0] == LENGTH for values in trace.values.values())
    assert (HIDDEN_STATES in trace.values) == setting.startswith("rnn")
    mean = mean_trace(model, np.array([TOKENS, TOKENS]))
    assert len(mean.attention) == len(trace.attention)


DECODER_ONLY = TransformerOptions(heads=1, d_attn=2, d_model=4, mlp_width=3)
writers = pytest.mark.parametrize(
    "options",
    [
        SETTINGS[ONE_EACH[1]],
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in (SETTINGS[ONE_EACH[0]], DECODER_ONLY)
        ),
    ],
    ids=lambda options: options.name,
)


def law_of(model, *, unused):
    """log p of every target of the source, by one call of the model for each."""
    targets = [*itertools.product(range(VOCAB), repeat=TARGET)]
    visible = jnp.array([(*TOKENS[:SOURCE], *target[:-1]) for target in targets])
    read = jax.jit(jax.vmap(lambda tokens: model(tokens, jnp.arange(SOURCE - 1, LENGTH))[0]))
    law = {}
    for target, logits in zip(targets, np.asarray(read(visible), dtype=np.float64), strict=True):
        chance = 0.0
        for place, row in enumerate(logits):
            left = [token for token in range(VOCAB) if not unused or token not in target[:place]]
            if target[place] not in left:
                chance = -np.inf
                break
            chance += row[target[place]] - np.log(np.exp(row[left]).sum())
        law[target] = chance
    return law


@pytest.mark.slow
@writers
def test_targets_are_written_as_enumeration_says(options):
    model, source = build(options), jnp.array(TOKENS[:SOURCE])
    for unused in (False, True):
        law = law_of(model, unused=unused)
        beam = write_beam(model, source, count=TARGET, width=VOCAB**TARGET, unused=unused)
        best = sorted(law, key=law.get, reverse=True)
        possible = sum(np.isfinite(chance) for chance in law.values())
        np.testing.assert_allclose(beam.log_probs, [law[target] for target in best], atol=1e-5)
        for target, chance in zip(beam.continuations.tolist()[:possible], beam.log_probs,
                                  strict=False):  # fmt: skip
            assert law[tuple(target)] == pytest.approx(float(chance), abs=1e-5)
        greedy = ()
        for place in range(TARGET):
            shares = {
                token: sum(
                    np.exp(chance) for target, chance in law.items()
                    if target[: place + 1] == (*greedy, token)
                )
                for token in range(VOCAB)
            }  # fmt: skip
            greedy = (*greedy, max(shares, key=shares.get))
        found = write_target(model, source, count=TARGET, unused=unused)
        assert tuple(found.tolist()) == greedy
        narrow = write_beam(model, source, count=TARGET, width=1, unused=unused)
        assert tuple(narrow.continuations[0].tolist()) == greedy


@pytest.mark.slow
def test_targets_are_drawn_by_the_law_of_their_temperature():
    model, source = build(SETTINGS[ONE_EACH[1]]), jnp.array(TOKENS[:SOURCE])
    drawn = jax.vmap(
        lambda key: write_target(model, source, count=TARGET, temperature=1.0, key=key, unused=True)
    )(jr.split(jr.key(3), 4_000))
    law = law_of(model, unused=True)
    counts = dict.fromkeys(law, 0)
    for target in np.asarray(drawn).tolist():
        counts[tuple(target)] += 1
    for target, chance in law.items():
        expected = 4_000 * np.exp(chance)
        assert abs(counts[target] - expected) <= 4.5 * np.sqrt(expected) + 1


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [-1.0, float("nan"), 0.5])
def test_temperatures_without_a_meaning_are_refused(temperature):
    with pytest.raises(ValueError, match="`temperature`"):
        write_target(
            build(SETTINGS[ONE_EACH[1]]), jnp.array(TOKENS[:3]), count=3, temperature=temperature
        )


def _trained(options, task, **training):
    changes = {"loss": "next", "data": "fresh", "batch": 64, "learning_rate": 0.01, **training}
    experiment = Experiment(
        generator=task, model=options, training=Training(test_size=100, **changes)
    )
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    return experiment, setup, last


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        EncoderDecoderOptions(d_model=16, d_attn=8, mlp_width=16),
        RNNBottleneckOptions(hidden_size=24, cell="gru"),
    ],
    ids=lambda options: options.name,
)
def test_a_small_task_is_learned(options):
    task = Cards(hand=2, suits=2, ranks=10)
    _, setup, last = _trained(options, task, steps=600)
    found = check_targets(task, last.state.model, setup.test)
    assert found.exact_match.value > 0.9
    # Greedily written targets are right where every token is that follows the true ones.
    right = evaluate(last.state.model, setup.test, readout="last", prompt_length=2)
    assert found.tokens.mean.accuracy == pytest.approx(right.accuracy)
    assert found.tokens.mean.nll == pytest.approx(right.nll, rel=1e-5)
    assert found.tokens.positions.tolist() == [2, 3]
    assert np.asarray(setup.loss_mask).tolist() == [[False, False, True, True]] * 100


@pytest.mark.slow
def test_runs_of_a_comparison_have_their_exact_match():
    task = Reverse(source_length=2, letters=12)
    training = Training(loss="next", data="fresh", steps=2, batch=10, test_size=100)
    experiment = Experiment(
        generator=task, model=RNNBottleneckOptions(hidden_size=8), training=training
    )
    one = carry_out(experiment)
    found = check_targets(task, one.run.state.model, prepare(experiment).test)
    assert one.exact_match == found.exact_match.value > 0
    answer = carry_out_text(to_json(experiment))
    assert result_from(answer).exact_match == one.exact_match


@pytest.mark.slow
def test_exact_match_is_that_of_the_true_target():
    task = Reverse(source_length=2, letters=12, noise=0.5)
    _, setup, last = _trained(RNNBottleneckOptions(hidden_size=8), task, steps=2)
    model, count = last.state.model, 0
    read = eqx.filter_jit(model)
    for tokens in np.asarray(setup.test):
        written = []
        for place in range(2):
            visible = [*tokens[:2], *written, 0][:3]
            logits = read(jnp.array(visible), jnp.array([1 + place]))[0][0]
            written.append(int(jnp.argmax(logits)))
        count += written == tokens[:2][::-1].tolist()
    found = check_targets(task, model, setup.test)
    assert found.exact_match.value == count / 100
    assert found.exact_match.stderr > 0
