"""Alibi predicts longer sequences than it was trained on; sinusoidal positions do not."""

from types import MappingProxyType

import numpy as np

from attnlab.generators import Mess3
from attnlab.inspection.lengths import MOST_TIMES, loss_at_length
from attnlab.known_results.entry import Check, KnownResult
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.positions import AbstractPosition, Alibi, Rotary, Sinusoidal
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.optimisers import WarmUpCosine
from attnlab.training.steps import Training

_LENGTH = 16
_RISE = "rise above the floor (nats)"


def _with(position: AbstractPosition) -> Experiment:
    return Experiment(
        generator=Mess3(),
        length=_LENGTH,
        model=TransformerOptions(
            layers=2, heads=4, d_attn=8, d_model=32, mlp_width=64, position=position
        ),
        training=Training(
            loss="next",
            data="fresh",
            batch=128,
            schedule=WarmUpCosine(),
            steps=600,
            test_size=1_000,
        ),
    )


_SETTINGS = {
    "alibi": _with(Alibi(slopes="by head")),
    "sinusoidal": _with(Sinusoidal()),
    "rotary": _with(Rotary()),
}


def rise_of_loss(model: AbstractModel, setup: Setup) -> float:
    """Return the loss above the floor after the trained length, minus that up to it.

    Both are relative to the exact predictions of the same tokens, so that the randomness of the
    tokens cancels.
    """
    own, longer = (
        loss_at_length(setup.experiment, model, np.asarray(setup.test), times * _LENGTH).excess
        for times in (1, MOST_TIMES)
    )
    return longer - own


RESULT = KnownResult(
    name="train-short-test-long",
    title="Train short, test long",
    claim="With the position encoding alibi, the loss stays low on sequences longer than in "
    "training. With sinusoidal positions it rises.",
    source="Press, Smith and Lewis (2022), “Train short, test long: attention with linear biases "
    "enables input length extrapolation”",
    settings=MappingProxyType(_SETTINGS),
    checks=(
        Check(
            f"With alibi, the loss above the floor rises by at most 0.02 nats on sequences of "
            f"{MOST_TIMES} times the trained length.",
            "alibi",
            _RISE,
            most=0.02,
        ),
        Check(
            "With sinusoidal positions it rises by at least 0.1 nats.",
            "sinusoidal",
            _RISE,
            least=0.1,
        ),
        Check(
            "With rotary positions it rises more than with alibi.",
            "rotary",
            _RISE,
            least=0.0,
            minus="alibi",
        ),
    ),
    metrics=MappingProxyType({_RISE: rise_of_loss}),
    differs="The paper trains language models on text, with 512 tokens and more. Here two layers "
    f"learn the process `mess3` from {_LENGTH} tokens, and the rise is measured on later tokens.",
    tuned_on=(0, 1, 2, 3, 4),
)
