"""Which parts of a trained transformer its answer needs: its heads, its MLP, or both.

A part is fixed to its mean over the test sequences, so that it no longer depends on the tokens. The
share that the model still learns says how much the rest does without it.
"""

import equinox as eqx
import jax.numpy as jnp

from attnlab.configuration.number_text import show_percent
from attnlab.models import AbstractModel, Edit, TransformerOptions, edited
from attnlab.models.inside import mean_trace
from attnlab.optimum import FEW_BELIEFS, optimum
from attnlab.training.evaluation import Evaluation, evaluate
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.measure import Estimate
from attnlab.training.shares import learned_share

# Sequences for the mean. The site before the MLP, and the site after it.
_SEQUENCES = 2_000
_BEFORE, _AFTER = "attention.0", "mlp.0"
# Of the share learned: from this part on a fixed part hardly mattered.
_NEARLY_ALL = 0.9


def evaluation(model: AbstractModel, setup: Setup, *, by_position: bool = False) -> Evaluation:
    """Return the test of a model on the test set of its setup."""
    return evaluate(
        model,
        setup.test,
        readout=setup.experiment.training.readout,
        loss_mask=setup.loss_mask,
        exact=setup.exact,
        by_position=by_position,
    )


def learned(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share of what can be learned: 0 is a uniform guess, 1 the best possible."""
    process = setup.experiment.generator
    floor = optimum(process, setup.experiment.length, FEW_BELIEFS).final
    found = learned_share(evaluation(model, setup), floor, process.vocabulary.size)
    return None if found is None else Estimate(*found)


def learned_with_mean_patterns(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share learned if every head has its mean pattern in all sequences."""
    edits = [
        Edit(found.layer, head, jnp.asarray(pattern))
        for found in mean_trace(model, setup.test[:_SEQUENCES, :-1]).attention
        for head, pattern in enumerate(found.pattern)
    ]
    return learned(edited(model, *edits), setup)


def learned_with_mean_mlp(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the share learned if the MLP adds the same in all sequences: its mean.

    With the weights W₂ at 0, the MLP adds its bias, which is set to what it adds on average at the
    position that predicts.
    """
    visible = setup.test[:_SEQUENCES, :-1]
    found = mean_trace(model, visible, capture=(_BEFORE, _AFTER)).residual
    added = (found[_AFTER] - found[_BEFORE])[setup.experiment.read_position]

    def last_map(whole):
        return whole.layers[0].mlp[1].weight, whole.layers[0].mlp[1].bias

    weight, _ = last_map(model)
    fixed = jnp.zeros_like(weight), jnp.asarray(added, weight.dtype)
    return learned(eqx.tree_at(last_map, model, fixed), setup)


def has_essential_parts(experiment: Experiment) -> bool:
    """Return whether a model is a transformer of one layer with an MLP that predicts one token."""
    model = experiment.model
    return (
        isinstance(model, TransformerOptions)
        and model.layers == 1
        and model.mlp_width > 0
        and model.residual == "with"
        and model.normalisation != "post"
        and not experiment.generator.has_loss_mask()
    )


def essential_parts_in_words(whole: float, patterns: float, mlp: float) -> str:
    """Say which parts a model needs, from the shares learned.

    Args:
        whole: The share that the model has learned.
        patterns: Its share with mean patterns.
        mlp: Its share with the mean output of the MLP.
    """
    enough = _NEARLY_ALL * whole
    hardly = "hardly " * (patterns >= enough)
    does = "adds little" if mlp >= enough else "combines what attention brings"
    return (
        f"With its average attention in all sequences, the model {_reaches(patterns, enough)}: "
        f"attention {hardly}depends on the tokens. With the average output of its MLP, it "
        f"{_reaches(mlp, enough)}: the MLP {does}."
    )


def _reaches(share: float, enough: float) -> str:
    if share <= 0:
        return "is no better than a guess"
    return f"{'still learns' if share >= enough else 'learns only'} {show_percent(share)}"
