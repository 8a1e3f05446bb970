"""Which parts of a trained transformer its answer needs: its heads, its MLP, or both.

A part is fixed to its mean over the test sequences, so that it no longer depends on the tokens. The
share that the model still learns says how much the rest does without it.
"""

import equinox as eqx
import jax.numpy as jnp

from attnlab.configuration.number_text import show_measured
from attnlab.models import AbstractModel, Edit, TransformerOptions, edited
from attnlab.models.inside import mean_trace
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.measure import Estimate

# Sequences for the means. The site before the MLP, and the site after it.
_SEQUENCES = 2_000
_BEFORE, _AFTER = "attention.0", "mlp.0"
# Of the share learned: from this part on a fixed part hardly mattered.
_NEARLY_ALL = 0.9


def with_mean_patterns(model: AbstractModel, setup: Setup) -> AbstractModel:
    """Give every head its mean pattern in all sequences."""
    edits = [
        Edit(found.layer, head, jnp.asarray(pattern))
        for found in mean_trace(model, setup.test[:_SEQUENCES, :-1]).attention
        for head, pattern in enumerate(found.pattern)
    ]
    return edited(model, *edits)


def with_mean_mlp(model: AbstractModel, setup: Setup) -> AbstractModel:
    """Let the MLP add the same in all sequences: its mean.

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
    return eqx.tree_at(last_map, model, fixed)


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


def essential_parts_in_words(whole: Estimate, patterns: Estimate, mlp: Estimate) -> str:
    """Say which parts a model needs, from the shares learned.

    Args:
        whole: The share that the model has learned.
        patterns: Its share with mean patterns.
        mlp: Its share with the mean output of the MLP.
    """
    enough = _NEARLY_ALL * whole.value
    looks = "need not" if patterns.value >= enough else "must"
    needs = "hardly needs" if mlp.value >= enough else "needs"
    return (
        f"If the average pattern replaces its attention, the model {_reaches(patterns, enough)}: "
        f"where it looks {looks} depend on the tokens. If the average output replaces that of its "
        f"MLP, it {_reaches(mlp, enough)}: it {needs} the MLP."
    )


def _reaches(share: Estimate, enough: float) -> str:
    # Within two errors of 0, the share of a guess.
    if share.value <= 2 * share.stderr:
        return "is no better than a guess"
    percent = show_measured(100 * share.value, 100 * share.stderr, most_places=1)
    return f"{'still reaches' if share.value >= enough else 'reaches only'} {percent} %"
