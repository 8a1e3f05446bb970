"""Attention recalls pairs from the context; convolutions and small states do not."""

import dataclasses
from types import MappingProxyType

from attnlab.known_results.entry import Check, KnownResult
from attnlab.models import ConvOptions, GRUOptions, SSMOptions
from attnlab.training.presets import PRESETS

_ATTENTION = "attention"
_START = PRESETS["recall-pairs"].experiment
# Each has at least as many parameters as the transformer.
_OTHERS = {
    "gru": GRUOptions(hidden_size=50),
    "ssm": SSMOptions(hidden_size=64, mlp_width=128),
    "conv": ConvOptions(d_model=34),
}


def _check(family: str) -> Check:
    return Check(
        f"The accuracy of `{family}` is at least 0.1 below that of attention.",
        family,
        "accuracy",
        most=-0.1,
        minus=_ATTENTION,
    )


RESULT = KnownResult(
    name="recall-of-pairs",
    title="Recalling pairs",
    claim="Attention recalls the value of an earlier key more often than convolutional, recurrent "
    "and state-space models of the same size.",
    source="Arora et al. (2023), “Zoology: measuring and improving recall in efficient language "
    "models”",
    settings=MappingProxyType(
        {
            _ATTENTION: _START,
            **{name: dataclasses.replace(_START, model=model) for name, model in _OTHERS.items()},
        }
    ),
    checks=(
        Check(
            "The accuracy of attention is at least 0.99.",
            _ATTENTION,
            "accuracy",
            least=0.99,
            most=1.0,
        ),
        *map(_check, _OTHERS),
    ),
    differs="The paper compares attention with gated convolutions, and has more pairs and longer "
    "sequences. Here there are four pairs of eight keys and eight values. All models train for "
    "1,000 steps at the same learning rate.",
    tuned_on=(0, 1, 2, 3, 4),
)
