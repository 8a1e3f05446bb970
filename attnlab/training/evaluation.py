"""Testing a model on sequences that it has not seen."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator, predictions_from
from attnlab.models import AbstractModel
from attnlab.models.base import final_logits
from attnlab.optimum.sequences import mean_and_error
from attnlab.training.losses import of_final
from attnlab.training.sources import Example, as_examples, compiled_quickly

# Number of sequences evaluated together, up to this many positions. At twice as many a test of the
# largest hosted model took as much memory as its training.
_EVALUATION_BLOCK, _SHORT = 1_000, 33
# A run is tested at some hundred steps. Where only the final prediction is tested on all sequences,
# the other positions are tested on the first few, in blocks that fit into the cache.
_SEQUENCES_BY_POSITION, _TOKENS_BY_POSITION, _BLOCK_BY_POSITION = 250, 2**15, 32


class LossByPosition(NamedTuple):
    """Test loss, in nats, of predicting the token at each of the `positions`, counted from 0.

    `mean` is over positions. All errors are standard errors over sequences.
    """

    positions: tuple[int, ...]
    nll: tuple[float, ...]
    nll_stderr: tuple[float, ...]
    mean: float
    mean_stderr: float


class Evaluation(NamedTuple):
    """Test results with their standard errors over the test sequences.

    `excess` is the loss minus that of the exact predictions on the same sequences, in nats. It
    estimates KL(true ‖ model), what is left to learn, with a far smaller error than the loss has,
    since the same sequences are hard for both. None if the exact losses are not known.
    `by_position` is None if only the final prediction was tested, or a loss is infinite.
    """

    nll: float
    nll_stderr: float
    accuracy: float
    accuracy_stderr: float
    excess: float | None = None
    excess_stderr: float | None = None
    by_position: LossByPosition | None = None


class EvaluationByPosition(NamedTuple):
    """Test results at each of the `positions`: the indices of the predicted tokens, from 0.

    `mean` is over positions, and its errors are over sequences, since the predictions of one
    sequence depend on each other.
    """

    positions: Int[np.ndarray, " predicted"]
    nll: Float[np.ndarray, " predicted"]
    nll_stderr: Float[np.ndarray, " predicted"]
    accuracy: Float[np.ndarray, " predicted"]
    accuracy_stderr: Float[np.ndarray, " predicted"]
    mean: Evaluation

    @property
    def final(self) -> Evaluation:
        """Return the results of the last position."""
        nll, nll_stderr, accuracy, accuracy_stderr = (float(each[-1]) for each in self[1:5])
        return Evaluation(nll, nll_stderr, accuracy, accuracy_stderr)


def evaluate(
    model: AbstractModel,
    sequences: Int[Array, "size positions"],
    *,
    readout: str,
    prompt_length: int = 0,
    loss_mask: Bool[Array | np.ndarray, "size positions"] | None = None,
    exact: Float[np.ndarray, " size"] | None = None,
    by_position: bool = False,
    blocks: Int[np.ndarray, " size"] | None = None,
) -> Evaluation:
    """Return loss and accuracy of predicting the final token, at the readout, on test sequences.

    A `loss_mask`, such as `Setup.loss_mask`, selects other tokens, each predicted from the tokens
    before it. The results are then means over tokens, with errors over sequences. A `prompt_length`
    is a mask of all tokens after the prompt. `exact` are the `exact_losses` of the sequences; the
    `excess` is computed from them.

    With a mask the result has the losses `by_position`. Without one they are requested by this
    argument, and measured on the first 250 sequences, or on fewer if these are long.

    With `blocks`, such as `Setup.blocks`, standard errors are those over blocks of sequences, as in
    `mean_and_error`.

    The standard error of an accuracy p over n sequences is √(p(1-p)/n) with p moved half a sequence
    away from 0 and 1, so that it is never zero.
    """
    if prompt_length:
        loss_mask = np.broadcast_to(np.arange(sequences.shape[1]) >= prompt_length, sequences.shape)
    if loss_mask is None:
        found = _figures(*(each := outcomes(model, sequences, readout=readout)))
        if by_position:
            found = found._replace(by_position=_loss_of_every_token(model, sequences, blocks))
    else:
        losses, rights = losses_of_tokens(model, as_examples(sequences, jnp.asarray(loss_mask)))
        counted = np.asarray(loss_mask)[:, 1:]
        each = _mean_where(losses, counted), _mean_where(rights, counted)
        found = _mean_figures(*each)._replace(by_position=loss_of_positions(losses, counted))
    if blocks is not None:
        nll, share = (mean_and_error(values, blocks) for values in each)
        # Never below that of independent sequences, which is not zero.
        error = max(share.stderr, found.accuracy_stderr)
        found = found._replace(nll_stderr=nll.stderr, accuracy_stderr=error)
    if exact is None:
        return found
    excess, stderr = mean_and_error(each[0] - exact, blocks)
    return found._replace(excess=excess, excess_stderr=stderr)


@fixed_numerics()
def exact_losses(
    generator: AbstractGenerator, sequences: Int[Array | np.ndarray, "size positions"]
) -> Float[np.ndarray, " size"]:
    """Return the loss, in nats, that the exact predictions have on each sequence of a test.

    It is -log p(final token | all before it), or the mean of this over the tokens in the loss mask.
    """
    losses = _exact_losses(generator, generator.start(), jnp.asarray(sequences))
    return np.asarray(losses, dtype=np.float64)


@fixed_numerics()
def outcomes(
    model: AbstractModel,
    sequences: Int[Array, "size positions"],
    *,
    readout: str,
    loss_mask: Bool[Array | np.ndarray, "size positions"] | None = None,
    final_law: Float[Array, "size vocab"] | None = None,
) -> tuple[Float[np.ndarray, " size"], Float[np.ndarray, " size"]]:
    """Return each test sequence's loss, and its accuracy (1.0 or 0.0).

    With a `loss_mask`, both are means over the tokens in the mask: see `evaluate`. With a
    `final_law` they are expected values over the final token.
    """
    if loss_mask is not None:
        examples = Example(sequences, jnp.asarray(loss_mask), final_law)
        nll, right = losses_of_tokens(model, examples)
        counted = np.asarray(loss_mask)[:, 1:]
        return _mean_where(nll, counted), _mean_where(right, counted)
    found = _tested(_test, model, sequences, readout, final_law)
    nll, right = (np.asarray(part, dtype=np.float64) for part in found)
    return nll, right


@fixed_numerics()
def evaluate_by_position(
    model: AbstractModel, sequences: Int[Array, "size positions"] | Example
) -> EvaluationByPosition:
    """Return loss and accuracy of predicting every token from those before it.

    Token t is predicted at position t - 1; the first token has no prediction, and the readout is
    not used. All tokens of plain sequences are tested, and those in the loss mask of an `Example`.
    The model must predict at each position. Errors are as in `evaluate`; `mean` weighs all
    sequences equally.
    """
    examples = sequences if isinstance(sequences, Example) else as_examples(sequences)
    nll, right = losses_of_tokens(model, examples)
    loss_mask = np.asarray(examples.loss_mask)[:, 1:]
    positions = np.flatnonzero(loss_mask.any(axis=0))
    each = [_figures(nll[loss_mask[:, t], t], right[loss_mask[:, t], t])[:4] for t in positions]
    counted = loss_mask.any(axis=1)
    nlls, shares = (part[counted].mean(axis=1, where=loss_mask[counted]) for part in (nll, right))
    mean = _mean_figures(nlls, shares)
    return EvaluationByPosition(positions + 1, *np.transpose(each), mean=mean)


@fixed_numerics()
def losses_of_tokens(
    model: AbstractModel, examples: Example
) -> tuple[Float[np.ndarray, "size tokens"], Float[np.ndarray, "size tokens"]]:
    """Return loss and correctness (1 or 0) of predicting each token after the first."""
    nll, right = _tested(_test_all, model, examples)
    return np.asarray(nll, dtype=np.float64), np.asarray(right, dtype=np.float64)


def _mean_where(
    values: Float[np.ndarray, "size tokens"], counted: Bool[np.ndarray, "size tokens"]
) -> Float[np.ndarray, " size"]:
    """Return the mean over the tokens that count, equally many in each sequence."""
    return values[counted].reshape(len(counted), -1).mean(axis=1)


@fixed_numerics()
def _loss_of_every_token(
    model: AbstractModel,
    sequences: Int[Array, "size positions"],
    blocks: Int[np.ndarray, " size"] | None,
) -> LossByPosition | None:
    few = max(1, min(_SEQUENCES_BY_POSITION, _TOKENS_BY_POSITION // sequences.shape[1]))
    nll, _ = _tested(_test_first, model, sequences, few)
    nll = np.asarray(nll, dtype=np.float64)
    of_few = None if blocks is None else blocks[:few]
    return loss_of_positions(nll, np.ones_like(nll, dtype=bool), of_few)


def loss_of_positions(
    nll: Float[np.ndarray, "size tokens"],
    counted: Bool[np.ndarray, "size tokens"],
    blocks: Int[np.ndarray, " size"] | None = None,
) -> LossByPosition | None:
    """Return the mean loss over sequences at each position that counts in any of them.

    With `blocks`, in which all tokens count, errors are those over blocks.
    """
    if not np.isfinite(nll[counted]).all():
        return None
    tokens = np.flatnonzero(counted.any(axis=0))
    nll, counted = nll[:, tokens], counted[:, tokens]
    count = counted.sum(axis=0)
    losses = nll.mean(axis=0, where=counted)
    spread = ((nll - losses) ** 2).sum(axis=0, where=counted)
    # A single sequence has no standard error.
    errors = np.sqrt(spread / np.where(count > 1, count * (count - 1.0), np.nan))
    if blocks is not None:
        errors = np.array([mean_and_error(each, blocks).stderr for each in nll.T])
    mean = mean_and_error(_mean_where(nll, counted), blocks)
    places, nlls, stderrs = (tuple(each.tolist()) for each in (tokens + 1, losses, errors))
    return LossByPosition(places, nlls, stderrs, *mean)


def evaluation_block(positions: int) -> int:
    """Return how many sequences to evaluate together.

    This bounds the memory of a test: attention patterns grow with the square of the length.
    """
    return max(1, min(_EVALUATION_BLOCK, _EVALUATION_BLOCK * _SHORT**2 // positions**2))


def _mean_figures(nll: Float[np.ndarray, " size"], share: Float[np.ndarray, " size"]) -> Evaluation:
    """Return the evaluation from each sequence's mean loss and share of right predictions."""
    # A share of several predictions varies less than a single one.
    error = np.sqrt(max(share.var(), safe_variance(0.0, share.size)) / share.size)
    return _figures(nll, share)._replace(accuracy_stderr=float(error))


def _figures(nll: Float[np.ndarray, " size"], right: Float[np.ndarray, " size"]) -> Evaluation:
    size, accuracy = right.size, right.mean()
    mean, stderr = mean_and_error(nll)
    return Evaluation(
        nll=mean,
        nll_stderr=stderr,
        accuracy=float(accuracy),
        accuracy_stderr=float(np.sqrt(safe_variance(accuracy, size) / size)),
    )


def safe_variance(accuracy: float, size: int) -> float:
    """Return p(1-p), where p is the accuracy, kept at least 0.5 / `size` away from 0 and 1."""
    safe = np.clip(accuracy, 0.5 / size, 1 - 0.5 / size)
    return safe * (1 - safe)


def _tested(test, *arguments):
    """Run a compiled test; if it returns NaN, run it again without compilation.

    The compiler may round huge scores differently in the maximum of a softmax and in its
    exponential, which then overflows. A guard in the softmax itself would change how every model is
    compiled, and with it the last digits of every run.
    """
    nll, right = test(*arguments)
    if np.isnan(nll).any():
        with jax.disable_jit():
            nll, right = test(*arguments)
    return nll, right


def _exact_losses_of(generator, start, sequences):
    def one(tokens):
        log_probs = predictions_from(generator, start, tokens)
        of_token = jnp.take_along_axis(log_probs, tokens[:, None], axis=1)[:, 0]
        loss_mask = generator.loss_mask(tokens)
        return -(of_token[-1] if loss_mask is None else of_token.mean(where=loss_mask))

    return jax.lax.map(one, sequences, batch_size=evaluation_block(sequences.shape[1]))


_exact_losses = compiled_quickly(_exact_losses_of)


@eqx.filter_jit
def _test(model, sequences, readout, final_law):
    def one(of_one):
        tokens, law = of_one
        log_probs = jax.nn.log_softmax(final_logits(model, tokens[:-1], readout))
        best = jnp.argmax(log_probs)
        right = best == tokens[-1] if law is None else law[best]
        return -of_final(log_probs, tokens[-1], law), right

    block = evaluation_block(sequences.shape[1])
    return jax.lax.map(one, (sequences, final_law), batch_size=block)


@eqx.filter_jit
def _test_first(model, sequences, few):
    return _every_token(model, as_examples(sequences[:few]), _BLOCK_BY_POSITION)


@eqx.filter_jit
def _test_all(model, examples):
    return _every_token(model, examples, evaluation_block(examples.tokens.shape[1]))


def _every_token(model, examples, block):
    def one(example):
        queries, following = jnp.arange(example.tokens.size - 1), example.tokens[1:]
        log_probs = jax.nn.log_softmax(model(example.tokens[:-1], queries)[0])
        of_next = jnp.take_along_axis(log_probs, following[:, None], axis=1)[:, 0]
        right = jnp.argmax(log_probs, axis=1) == following
        if example.final_law is not None:
            law, last = example.final_law, log_probs[-1]
            of_next = of_next.at[-1].set(of_final(last, following[-1], law))
            right = right.astype(last.dtype).at[-1].set(law[jnp.argmax(last)])
        return -of_next, right

    return jax.lax.map(one, examples, batch_size=block)
