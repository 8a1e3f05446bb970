"""Training one attention head against PyTorch doing the same work eagerly."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np

from attnlab import MODELS, Experiment, parameter_count, prepare
from benchmarks.timing import Figure, best_of, in_turns, ratio, seconds_of, spread

_ROUNDS = 5
_STEPS = 600
_THREADS = (1, 2)

# JAX takes its number of threads when it starts, so each is measured in a process of its own.
_OUR_RATE = """
from attnlab import Experiment
from benchmarks.step_loop import chunked_rate
print(chunked_rate(Experiment()))
"""


def _our_rate(threads: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _OUR_RATE],
        env={**os.environ, "NPROC": str(threads)},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def _torch_training(experiment: Experiment) -> tuple[Callable[[int], float], int]:
    """Steps of the same training, returning the last loss; and its number of parameters."""
    import torch
    from torch import nn

    class Head(nn.Module):
        """One head with learned positions beside one-hot tokens; only the last day asks."""

        def __init__(self, *, vocab: int, length: int, d_model: int, d_attn: int):
            super().__init__()
            width = vocab + d_model
            self.tokens = torch.eye(vocab)
            self.positions = nn.Parameter(torch.randn(length, d_model))
            self.query = nn.Linear(width, d_attn)
            self.key = nn.Linear(width, d_attn)
            self.value = nn.Linear(width, vocab)
            self.scale = 1 / math.sqrt(d_attn)

        def forward(self, days):
            positions = self.positions.expand(days.shape[0], -1, -1)
            inputs = torch.cat([self.tokens[days], positions], dim=-1)
            query = self.query(inputs[:, -1:])
            scores = query @ self.key(inputs).transpose(1, 2) * self.scale
            return (scores.softmax(dim=-1) @ self.value(inputs))[:, 0]

    torch.manual_seed(experiment.seed)
    model, training = experiment.model, experiment.training
    head = Head(
        vocab=experiment.generator.vocabulary.size,
        length=experiment.length,
        d_model=model.d_model,
        d_attn=model.d_attn,
    )
    optimiser = torch.optim.Adam(head.parameters(), lr=training.learning_rate)
    sequences = torch.tensor(np.asarray(prepare(experiment).source.sequences), dtype=torch.long)

    def train(steps: int) -> float:
        for _ in range(steps):
            batch = sequences[torch.randint(len(sequences), (training.batch,))]
            loss = nn.functional.cross_entropy(head(batch[:, :-1]), batch[:, -1])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return loss.item()

    return train, sum(parameter.numel() for parameter in head.parameters())


def _rows() -> Iterator[str]:
    if "transformer" not in MODELS:
        yield "transformers: skipped, attnlab has no model of that name"
    try:
        import torch
    # Where a library that it needs is missing, its import fails with one of these as well.
    except (ImportError, OSError):
        yield "skipped: PyTorch is not installed here (pip install torch)"
        return

    experiment = Experiment()
    train, parameters = _torch_training(experiment)
    ours = parameter_count(prepare(experiment).state.model)
    if parameters != ours:
        raise RuntimeError(f"{parameters} parameters in PyTorch, {ours} here: not the same work.")

    def torch_rate(threads: int) -> float:
        torch.set_num_threads(threads)
        train(20)
        return _STEPS / seconds_of(lambda: train(_STEPS))

    contenders = {
        f"{name}, {threads} thread{'s' * (threads > 1)}": lambda m=measure, t=threads: m(t)
        for threads in _THREADS
        for name, measure in (("attnlab", _our_rate), ("PyTorch", torch_rate))
    }
    rates = in_turns(contenders, rounds=_ROUNDS)
    for name, values in rates.items():
        yield f"{name:<20} {spread(values)} steps/s"
    ours, theirs = (
        best_of({name: values for name, values in rates.items() if name.startswith(kind)})
        for kind in ("attnlab", "PyTorch")
    )
    better = ratio(rates[ours], rates[theirs])
    yield f"each at its better thread count   {better}   target ≥ 10 ×"
    yield f"(PyTorch {torch.__version__}; {parameters} parameters in both)"


FIGURE = Figure(
    "steps/s of the default experiment, one head with only the last day's query, against eager "
    "PyTorch",
    _rows,
)
