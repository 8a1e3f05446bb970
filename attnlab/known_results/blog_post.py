"""Attention against a linear model on weather sequences, as in a blog post."""

from types import MappingProxyType

from attnlab.comparisons.published import PARTS, POST, PUBLISHED
from attnlab.configuration.options import present
from attnlab.known_results.entry import Check, KnownResult


def _check(process: str) -> Check:
    attention, linear = (PUBLISHED[process, model].english for model in ("attention", "linear"))
    return Check(
        f"On `{process}` the linear model is more accurate.",
        f"{process}, linear",
        "accuracy",
        least=0.0,
        minus=f"{process}, attention",
        published=round(present(linear) - present(attention), 3),
    )


RESULT = KnownResult(
    name="blog-post",
    title="Attention or a linear model?",
    claim="A linear model beats one attention head on weather sequences.",
    source=POST,
    settings=MappingProxyType(
        {
            ", ".join(dict(setting.options).values()): present(setting.experiment)
            for setting in PARTS["table"].settings
        }
    ),
    checks=tuple(map(_check, ("recall", "ndays10", "dotmod"))),
    published=MappingProxyType(
        {
            f"{process}, {model}": each.english
            for (process, model), each in PUBLISHED.items()
            if each.english is not None
        }
    ),
    first_seed=0,
    seeds=8,
)
