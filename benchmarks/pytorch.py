"""Training against PyTorch doing the same work eagerly, each at its better thread count."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from attnlab import MODELS, PRESETS, Experiment, advance, parameter_count, prepare
from attnlab.runs.links import to_query
from attnlab.training.steps import CHUNK_CAPACITY
from benchmarks.timing import Figure, best_of, in_turns, ratio, seconds_of, spread

_ROUNDS = 3
_SECONDS = 2.0
_THREADS = (1, 2)

# JAX takes its number of threads when it starts, so each is measured in a process of its own.
_OUR_RATE = """
import json, sys
from attnlab.runs.links import from_query
from benchmarks.pytorch import our_rate
print(our_rate(from_query(json.loads(sys.argv[1])).experiment))
"""


def _experiment(
    model: str, *, length: int = 10, batch: int = 256, loss: str = "last", **options
) -> Experiment:
    training = dataclasses.replace(Experiment().training, batch=batch, loss=loss)
    return Experiment(length=length, model=MODELS[model](**options), training=training)


_WIDE = {"layers": 2, "heads": 4, "d_attn": 8, "d_model": 32, "mlp_width": 128}
# What is trained, and how many times as quick it is meant to be.
_WORK = {
    "one head, batch 100": (Experiment(), "10"),
    "transformer, width 16": (
        _experiment("transformer", heads=1, d_attn=16, d_model=16, mlp_width=64), "4",
    ),
    "width 32, 4 heads, 2 layers": (_experiment("transformer", **_WIDE), "2"),
    "the same at length 64": (_experiment("transformer", length=64, **_WIDE), "1"),
    "the same, all tokens in the loss": (
        _experiment("transformer", length=64, batch=64, loss="next", **_WIDE), "1.5",
    ),
    "gru, width 32": (_experiment("gru", hidden_size=32), ""),
    "gru, length 64": (_experiment("gru", hidden_size=32, length=64), ""),
    "conv, width 32": (_experiment("conv", d_model=32), ""),
    "conv, length 64": (_experiment("conv", d_model=32, length=64), ""),
}  # fmt: skip
_CARDS = "cards-encoder-decoder"
_WITH_SOURCE = {_CARDS: (PRESETS[_CARDS].experiment, "2")}


def our_rate(experiment: Experiment) -> float:
    """Steps/s of `advance` in this process."""
    setup = prepare(experiment)

    def train(steps: int) -> None:
        advance(setup.state, setup.source, experiment.training, key=setup.key, steps=steps)

    return _rate(train)


def _our_rate(experiment: Experiment, threads: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _OUR_RATE, json.dumps(to_query(experiment))],
        env={**os.environ, "NPROC": str(threads)},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def _torch_rate(experiment: Experiment, threads: int) -> float:
    import torch

    from benchmarks.torch_models import hands, model_of

    torch.set_num_threads(threads)
    model, training = model_of(experiment), experiment.training
    optimiser = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    prompt = experiment.generator.prompt_length()
    # A task draws new sequences in every step, and every token of the target is in the loss.
    sequences = (
        None
        if prompt
        else torch.tensor(np.asarray(prepare(experiment).source.sequences), dtype=torch.long)
    )

    def train(steps: int) -> None:
        for _ in range(steps):
            if prompt:
                batch = hands(experiment.generator, training.batch)
                logits, following = model(batch[:, :-1]).flatten(0, 1), batch[:, prompt:].flatten()
            else:
                batch = sequences[torch.randint(len(sequences), (training.batch,))]
                logits = model(batch[:, :-1])
                following = batch[:, -1]
                if training.loss == "next":
                    logits, following = logits.flatten(0, 1), batch[:, 1:].flatten()
            loss = torch.nn.functional.cross_entropy(logits, following)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return _rate(train)


def _rate(train: Callable[[int], object]) -> float:
    """Steps/s, compilation not counted, over as many steps as take long enough."""
    steps = 1
    train(steps)
    while steps < CHUNK_CAPACITY and seconds_of(partial(train, steps)) < _SECONDS / 10:
        steps *= 2
    done, seconds = 0, 0.0
    while seconds < _SECONDS:
        seconds += seconds_of(partial(train, steps))
        done += steps
    return done / seconds


def _rows(work: Mapping[str, tuple[Experiment, str]]) -> Iterator[str]:
    try:
        import torch
    # Where a library that it needs is missing, its import fails with one of these as well.
    except (ImportError, OSError):
        yield "skipped: PyTorch is not installed here (pip install torch)"
        return
    from benchmarks.torch_models import model_of

    yield f"PyTorch {torch.__version__}"
    for name, (experiment, target) in work.items():
        contenders = {
            f"{kind}, {threads} thread{'s' * (threads > 1)}": partial(rate, experiment, threads)
            for threads in _THREADS
            for kind, rate in (("attnlab", _our_rate), ("PyTorch", _torch_rate))
        }
        rates = in_turns(contenders, rounds=_ROUNDS)
        ours, theirs = (
            best_of({name: values for name, values in rates.items() if name.startswith(kind)})
            for kind in ("attnlab", "PyTorch")
        )
        goal = f"   target ≥ {target} ×" if target else ""
        yield f"{name}: {ratio(rates[ours], rates[theirs])}{goal}"
        for contender, values in rates.items():
            yield f"    {contender:<20} {spread(values)} steps/s"
        parameters = sum(parameter.numel() for parameter in model_of(experiment).parameters())
        yield f"    parameters: {parameter_count(prepare(experiment).state.model)}, {parameters}"


FIGURE = Figure(
    "training steps/s against eager PyTorch, both computing only the rows that are in the loss; "
    "ratios at the better thread count of each",
    partial(_rows, _WORK),
)
WITH_SOURCE = Figure(
    "training steps/s against PyTorch's own nn.Transformer, run eagerly on new hands every step",
    partial(_rows, _WITH_SOURCE),
)
