"""Training in compiled chunks against a loop over single steps."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

from attnlab import Experiment, advance, prepare
from attnlab.models.base import final_logits
from benchmarks.timing import Figure, in_turns, ratio, seconds_of, spread

_ROUNDS = 7
_CHUNK = 1_000
_CHUNKS = 5
_LOOP_STEPS = 150
_TEST_SIZE = 1_000


def chunked_rate(experiment: Experiment) -> float:
    """Steps/s of `advance`, compilation not counted."""
    setup = prepare(experiment)

    def train(chunks: int) -> None:
        state = setup.state
        for _ in range(chunks):
            state, _ = advance(
                state, setup.source, experiment.training, key=setup.key, steps=_CHUNK
            )

    train(1)
    return _CHUNKS * _CHUNK / seconds_of(lambda: train(_CHUNKS))


class StepLoop:
    """The usual loop: one compiled step, its loss fetched, and a test after every step."""

    def __init__(self, experiment: Experiment):
        setup = prepare(experiment)
        training = experiment.training
        optimiser = optax.adam(training.learning_rate)
        model, rest = eqx.partition(setup.state.model, eqx.is_array)

        def log_probs(model, sequences):
            def one(days):
                return final_logits(eqx.combine(model, rest), days[:-1], training.readout)

            return jax.nn.log_softmax(jax.vmap(one)(sequences))

        def mean_loss(model, sequences):
            return -jnp.take_along_axis(
                log_probs(model, sequences), sequences[:, -1:], axis=1
            ).mean()

        @jax.jit
        def step(model, memory, key, sequences):
            rows = jr.randint(key, (training.batch,), 0, sequences.shape[0])
            loss, gradient = jax.value_and_grad(mean_loss)(model, sequences[rows])
            updates, memory = optimiser.update(gradient, memory)
            return optax.apply_updates(model, updates), memory, loss

        @jax.jit
        def test(model, sequences):
            right = log_probs(model, sequences).argmax(axis=1) == sequences[:, -1]
            return mean_loss(model, sequences), right.mean()

        self._step, self._test = step, test
        self._model, self._memory, self._key = model, optimiser.init(model), setup.key
        self._train_set = setup.source.sequences
        self._test_set = setup.test[:_TEST_SIZE]
        self.run(2)

    def run(self, steps: int) -> tuple[float, float, float]:
        """The last step's training loss, test loss and test accuracy."""
        model, memory, key = self._model, self._memory, self._key
        for _ in range(steps):
            key, draw = jr.split(key)
            model, memory, loss = self._step(model, memory, draw, self._train_set)
            figures = float(loss), *(float(part) for part in self._test(model, self._test_set))
        return figures

    def rate(self) -> float:
        """Steps/s."""
        return _LOOP_STEPS / seconds_of(lambda: self.run(_LOOP_STEPS))


def _rows() -> Iterator[str]:
    experiment = Experiment()
    loop = StepLoop(experiment)
    rates = in_turns({"ours": lambda: chunked_rate(experiment), "loop": loop.rate}, rounds=_ROUNDS)
    yield f"attnlab   {spread(rates['ours'])} steps/s"
    yield f"loop      {spread(rates['loop'])} steps/s"
    yield f"ratio     {ratio(rates['ours'], rates['loop'])}   target ≥ 10 ×"


FIGURE = Figure(
    "steps/s of the default experiment, against a compiled step at a time that fetches its loss "
    "and tests on 1,000 sequences",
    _rows,
)
