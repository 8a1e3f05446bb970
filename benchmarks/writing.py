"""Writing targets from a memory of what was read, against reading all again for every token."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.random as jr

from attnlab import Experiment, sample
from attnlab.generators import Reverse
from attnlab.inspection.decoding import write_target
from attnlab.models import SOURCE_MODELS, AbstractModel
from attnlab.training.experiment import build_model
from benchmarks.timing import Figure, in_turns, ratio, seconds_of, spread

_ROUNDS = 7
_LENGTHS = (10, 32)
# Targets written together.
_SIZES = (1, 256)
_LEAST_SECONDS = 0.2


class _Rereading(AbstractModel):
    """A model whose memory is unknown."""

    vocab: int = eqx.field(static=True)
    model: AbstractModel

    def read(self, one_hot, queries):
        return self.model.read(one_hot, queries)


def _rows() -> Iterator[str]:
    for name, kind in SOURCE_MODELS.items():
        for length in _LENGTHS:
            task = Reverse(source_length=length)
            model = build_model(Experiment(generator=task, model=kind()))
            for size in _SIZES:
                sources = sample(task, key=jr.key(0), size=size, length=length)
                rates = in_turns(
                    {
                        way: _rate(one, sources)
                        for way, one in (
                            ("with", model), ("without", _Rereading(task.vocabulary.size, model)),
                        )
                    },
                    rounds=_ROUNDS,
                )  # fmt: skip
                yield (
                    f"{name}, {length} letters, {size} at once: "
                    f"{ratio(rates['with'], rates['without'])}"
                )
                for way, values in rates.items():
                    yield f"    {way:<8} {spread(values)} tokens/s"


def _rate(model: AbstractModel, sources):
    """A measurement of tokens/s, compilation not counted."""
    count = sources.shape[1]

    @eqx.filter_jit
    def write(model, sources):
        return jax.vmap(lambda source: write_target(model, source, count=count))(sources)

    def once() -> float:
        return seconds_of(lambda: write(model, sources).block_until_ready())

    once()
    repeats = max(1, round(_LEAST_SECONDS / once()))

    def measured() -> float:
        return repeats * sources.size / sum(once() for _ in range(repeats))

    return measured


FIGURE = Figure(
    "greedily written tokens/s with a memory of what was read and written, and without one",
    _rows,
)
