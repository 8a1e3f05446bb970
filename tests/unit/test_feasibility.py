"""What an experiment can reach, reported before training."""

import dataclasses
import itertools
import re

import pytest

from attnlab.generators import Custom, DotMod, Markov, NDays, Recall, Reverse
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
)
from attnlab.models.parts import SCORE_CHOICES
from attnlab.optimum import optimum
from attnlab.positions import NoPosition, Rotary
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import feasibility
from attnlab.training.loop import train
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import case
from tests.unit.sampled_figures import sampled

# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 3e-6
SIGMAS = 4.5
CORRECTED = {name: PRESETS[name].experiment for name in PRESETS if name.startswith("corrected")}

# Its words, and the option that each is about.
FINDINGS = {
    "Day 1, which the table reads, lies before the 6 visible days": (
        "length", Experiment(generator=Recall(table_seed=1), length=6)
    ),
    "outside": ("length", Experiment(generator=NDays(n=5), length=3)),
    "almost nothing to learn": (
        "generator", Experiment(generator=DotMod(n=1, noise=0.6), length=2)
    ),
    "all weights 1": (
        "initialisation", Experiment(model=AttentionOptions(initialisation="ones"), length=4)
    ),
    "may see the very token": (
        "mask",
        Experiment(model=AttentionOptions(mask="none"), training=Training(loss="next"), length=4),
    ),
    "every position must predict the final token": (
        "loss", Experiment(training=Training(loss="published"), length=4)
    ),
    "read out at day": ("readout", Experiment(training=Training(readout="first"), length=4)),
    "does not see the order of the days": (
        "position",
        Experiment(
            generator=Recall(days=(1, 2)), model=AttentionOptions(position=NoPosition()), length=4
        ),
    ),
}  # fmt: skip


def on(name, **model):
    """An experiment on the process of a case."""
    generator, length, joint = case(name)
    training = Training(readout=model.pop("readout", "last"))
    options = AttentionOptions(**model)
    return Experiment(generator=generator, length=length, model=options, training=training), joint


def assert_reachable(verdict, law):
    assert verdict.reachable.nll == pytest.approx(oracles.floor(law), abs=CLOSE)
    assert verdict.reachable.accuracy == pytest.approx(oracles.ceiling(law), abs=CLOSE)


@pytest.mark.parametrize("words", FINDINGS)
def test_each_finding_is_told_alone_and_of_its_option(words):
    option, experiment = FINDINGS[words]
    (finding,) = feasibility(experiment).findings
    assert words in finding.text
    assert finding.option == option


def test_of_a_task_they_speak_of_tokens_and_not_of_a_readout_that_it_has_not():
    training = Training(readout="first", loss="published")
    model = AttentionOptions(mask="causal")
    experiment = Experiment(
        generator=Reverse(source_length=5), length=9, model=model, training=training
    )
    # Nor is what the first token can tell a bound for a loss over all of the target.
    assert feasibility(experiment).reachable is None
    findings = feasibility(experiment).findings
    text = " ".join(finding.text for finding in findings)
    assert "every position must predict the final token" in text
    assert "readout" not in {finding.option for finding in findings}
    assert not re.search(r"\bdays?\b", text, re.IGNORECASE)


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRECTED)
def test_nothing_stands_in_the_way_of_corrected_presets(name):
    verdict = feasibility(CORRECTED[name])
    assert verdict.findings == ()
    assert verdict.reachable is None


def test_no_remedy_names_an_option_that_the_family_has_not():
    gru = dataclasses.replace(FINDINGS["read out at day"][1], model=GRUOptions())
    (text,) = (text for _, text in feasibility(gru).findings if "read out at day" in text)
    assert text.endswith("Read out at the other end.")


def test_hidden_days_are_counted():
    (finding,) = feasibility(Experiment(generator=NDays(n=5), length=3)).findings
    assert "2 of the 5 days" in finding.text
    assert "3 visible days" in finding.text
    for length in (5, 6):
        assert not feasibility(Experiment(generator=NDays(n=5), length=length)).findings


def test_days_that_add_nothing_to_the_sum_do_not_count_as_hidden():
    """Of ten days the sum weighs the first and each third after it by a multiple of 3."""
    assert list(DotMod(n=10).findings(9)) == []
    (finding,) = DotMod(n=10).findings(8)
    assert (
        "1 of the 6 days that decide the odds of the next one lies outside the 8 visible days"
        in finding.text
    )
    (finding,) = DotMod(n=10).findings(6)
    assert "2 of the 6 days that decide the odds of the next one lie outside" in finding.text


def test_where_the_loss_can_fall_there_is_something_to_learn():
    """The commonest token is the best guess on every day, but how sure it is differs by far."""
    sure = Custom(symbols="a b c", table=((0.6, 0.4, 0.0), (0.6, 0.0, 0.4), (0.6, 0.2, 0.2)))
    verdict = feasibility(Experiment(generator=sure, length=4))
    assert verdict.best.accuracy == pytest.approx(0.6, abs=CLOSE)
    assert verdict.findings == ()


def test_with_the_loss_published_positions_that_see_everything_are_no_hindrance():
    model = AttentionOptions(mask="none")
    findings = feasibility(
        Experiment(model=model, training=Training(loss="published"), length=4)
    ).findings
    assert not any("every position must predict" in finding.text for finding in findings)


def test_hidden_recalled_days_are_named_with_the_best_that_is_left():
    experiment, joint = on("recall-hidden-all-but-one")
    verdict = feasibility(experiment)
    assert any(finding.text.startswith("Days 1 and 2, which") for finding in verdict.findings)
    assert any("a length of 5 shows all days" in finding.text for finding in verdict.findings)
    assert verdict.best.nll == pytest.approx(oracles.floor(joint), abs=CLOSE)
    longer = dataclasses.replace(experiment, length=5)
    assert not any("table reads" in finding.text for finding in feasibility(longer).findings)


def test_weights_of_one_do_no_harm_to_a_linear_model():
    model = LinearOptions(initialisation="ones")
    assert not feasibility(Experiment(model=model, length=4)).findings


@pytest.mark.parametrize("name", ["recall", "dotmod-5", "hmm", "custom-pairs"])
def test_with_positions_and_all_days_no_bound_below_the_best_is_claimed(name):
    verdict = feasibility(on(name)[0])
    assert verdict.best == optimum(*case(name)[:2]).final
    assert verdict.reachable is None


@pytest.mark.parametrize("mask", ["causal", "none"])
@pytest.mark.parametrize(
    "name", ["recall", "dotmod-5", "hmm", "custom-pairs", "custom-two-islands"]
)
def test_without_positions_only_counts_and_the_own_day_are_told(name, mask):
    experiment, joint = on(name, position=NoPosition(), mask=mask)
    known = oracles.known_only(joint, lambda days: (days[-1], *sorted(days)))
    assert_reachable(feasibility(experiment), known)


@pytest.mark.parametrize("kind", [AttentionOptions, TransformerOptions])
def test_rotary_of_a_single_component_tells_no_order(kind):
    generator, length, joint = case("recall")
    model = kind(d_attn=1, position=Rotary())
    verdict = feasibility(Experiment(generator=generator, length=length, model=model))
    assert_reachable(verdict, oracles.known_only(joint, lambda days: (days[-1], *sorted(days))))
    assert any("rotary needs a `d_attn` of 2" in finding.text for finding in verdict.findings)
    wider = dataclasses.replace(model, d_attn=2)
    assert feasibility(Experiment(generator=generator, length=length, model=wider)).findings == ()


@pytest.mark.parametrize("position", ["with", "without"])
@pytest.mark.parametrize("name", ["markov", "recall", "ndays-3"])
def test_the_published_mask_shows_the_last_position_its_own_day_only(name, position):
    options = {} if position == "with" else {"position": NoPosition()}
    experiment, joint = on(name, mask="published", **options)
    verdict = feasibility(experiment)
    assert_reachable(verdict, oracles.last_days(joint, 2))
    assert any("sees only day" in finding.text for finding in verdict.findings)


@pytest.mark.parametrize("name", ["recall", "hmm"])
def test_the_causal_mask_shows_the_first_position_day_1_only(name):
    experiment, joint = on(name, readout="first")
    verdict = feasibility(experiment)
    assert_reachable(verdict, oracles.known_only(joint, lambda days: days[0]))
    assert any("sees only day 1." in finding.text for finding in verdict.findings)


def test_the_published_mask_shows_the_first_position_everything():
    experiment, _ = on("recall", mask="published", readout="first")
    verdict = feasibility(experiment)
    assert verdict.findings == ()
    assert verdict.reachable is None


@pytest.mark.parametrize("name", ["recall", "dotmod-published-3", "markov"])
def test_a_linear_model_reaches_the_best_linear_predictor(name):
    generator, length, joint = case(name)
    verdict = feasibility(Experiment(generator=generator, length=length, model=LinearOptions()))
    assert verdict.reachable.nll == pytest.approx(oracles.least_linear_loss(joint), abs=1e-5)
    assert verdict.reachable.nll >= verdict.best.nll - 1e-6


@pytest.mark.slow
def test_sampled_reachable_figures_are_within_their_errors():
    experiment, joint = on("dotmod-5", position=NoPosition())
    known = oracles.known_only(joint, lambda days: (days[-1], *sorted(days)))
    found = sampled(lambda: feasibility(experiment)).reachable
    assert not found.exact
    assert abs(found.nll - oracles.floor(known)) <= SIGMAS * found.nll_stderr + CLOSE
    assert abs(found.accuracy - oracles.ceiling(known)) <= SIGMAS * found.accuracy_stderr + CLOSE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generator", "model"),
    [(Markov(), AttentionOptions(d_attn=4)), (DotMod(n=3), LinearOptions())],
    ids=["attention", "linear"],
)
def test_no_trained_model_beats_what_is_reachable(generator, model):
    training = Training(steps=400, data="fresh", batch=100)
    experiment = Experiment(generator=generator, length=4, model=model, training=training)
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    figures = evaluate(last.state.model, setup.test, readout=training.readout)
    verdict = feasibility(experiment)
    bounds = [bound for bound in (verdict.best, verdict.reachable) if bound is not None]
    for bound in bounds:
        assert figures.nll >= bound.nll - SIGMAS * figures.nll_stderr
        assert figures.accuracy <= bound.accuracy + SIGMAS * figures.accuracy_stderr
    # A training that teaches nothing would prove nothing.
    assert figures.nll < bounds[-1].nll + 0.05


STACKS = {
    "one layer": (TransformerOptions(position=NoPosition()), "counts"),
    "one layer, all days": (TransformerOptions(position=NoPosition(), mask="none"), "counts"),
    "two layers, all days": (
        TransformerOptions(layers=2, position=NoPosition(), mask="none"), "counts"
    ),
    "two causal layers": (TransformerOptions(layers=2, position=NoPosition()), None),
    "with positions": (TransformerOptions(layers=2), None),
    "read out before": (TransformerOptions(layers=2, mask="published"), "own day"),
    "gru": (GRUOptions(), None),
    "lstm": (LSTMOptions(), None),
    "rnn": (RNNOptions(), None),
    "ssm": (SSMOptions(), None),
    "mlp": (MLPOptions(), None),
    "conv that sees all": (ConvOptions(), None),
    "conv that sees two days": (ConvOptions(layers=1, kernel_size=2), "last two"),
    "conv of two narrow layers": (ConvOptions(layers=2, kernel_size=2), None),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_of_a_stack_a_bound_is_told_where_it_holds_and_none_elsewhere(name):
    model, expected = STACKS[name]
    generator, length, joint = case("recall")
    verdict = feasibility(Experiment(generator=generator, length=length, model=model))
    if expected is None:
        assert verdict.reachable is None
        assert not verdict.findings
        return
    features = {
        "counts": lambda days: (days[-1], *sorted(days)),
        "own day": lambda days: days[-1],
        "last two": lambda days: tuple(days[-2:]),
    }[expected]
    assert_reachable(verdict, oracles.known_only(joint, features))
    assert verdict.findings


def test_a_convolution_says_which_day_it_does_not_see():
    """Taps at 0 and 1 of the first layer and at 0 and 3 of the second: 0, 1, 3 and 4 days back."""
    model = ConvOptions(layers=2, kernel_size=2, dilation=3)
    assert model.distances(10) == (0, 1, 3, 4)
    assert model.sees(3, 10) == (0, 2, 3)
    (finding,) = model.findings(loss="last", length=10)
    assert "sees 4 of 10 positions: it does not see the one 2 before the last" in finding.text
    assert not list(ConvOptions(layers=3, kernel_size=3).findings(loss="last", length=10))


@pytest.mark.parametrize(("kernel_size", "dilation"), [(1, 2), (2, 2), (2, 3), (3, 4), (3, 1)])
def test_the_remedy_of_a_narrow_convolution_is_one(kernel_size, dilation):
    """Days back that sums of one tap of each layer reach, by enumeration."""

    def sees_all(kernel_size, dilation, layers):
        taps = [[j * dilation**layer for j in range(kernel_size)] for layer in range(layers)]
        return {sum(path) for path in itertools.product(*taps)} >= set(range(10))

    model = ConvOptions(layers=1, kernel_size=kernel_size, dilation=dilation)
    (finding,) = model.findings(loss="last", length=10)
    more_layers = any(sees_all(kernel_size, dilation, layers) for layers in range(2, 7))
    assert ("more `layers`" in finding.text) == more_layers
    assert "a larger `kernel_size`" in finding.text


def test_equal_weights_are_one_component_unless_the_score_bounds_each():
    for score in SCORE_CHOICES:
        model = AttentionOptions(initialisation="ones", score=score)
        (finding,) = model.findings(loss="last", length=10)
        assert ("no better than one of width 1" in finding.text) == (score != "additive")


def test_a_state_space_model_without_an_mlp_is_linear():
    generator, length, _ = case("recall")
    linear = LinearOptions().reachable(generator, length, length - 1)
    for width, expected in ((0, linear), (8, None)):
        found = SSMOptions(mlp_width=width).reachable(generator, length, length - 1)
        assert found == expected
