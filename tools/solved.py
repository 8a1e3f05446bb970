"""What presets come to, as in `docs/solved.md`: `python -m tools.solved [PRESET ...]`.

Prints accuracy and loss beside the best possible, and the seconds of training, tested on 100,000
sequences, over five seeds and once with 5,000 fixed sequences. By default of all presets that solve
a process: some five minutes on two cores.
"""

import dataclasses
import sys
import time

from attnlab import PRESETS, Experiment, evaluate, prepare, train
from attnlab.optimum import optimum

_SOLVED, _SEEDS, _TEST_SIZE, _FIXED = "solved-", range(5), 100_000, 5_000


def main(names: list[str]) -> None:
    """Print a line for every run."""
    for name in names:
        experiment = PRESETS[name].experiment
        training = dataclasses.replace(experiment.training, test_size=_TEST_SIZE)
        for seed in _SEEDS:
            print(_line(name, dataclasses.replace(experiment, training=training, seed=seed)))
        fixed = dataclasses.replace(training, data="fixed", train_size=_FIXED)
        title = f"{name}, {_FIXED:,} fixed sequences"
        print(_line(title, dataclasses.replace(experiment, training=fixed)), flush=True)


def _line(name: str, experiment: Experiment) -> str:
    best = optimum(experiment.generator, experiment.length).final
    setup, began = prepare(experiment), time.perf_counter()
    *_, last = train(experiment, setup)
    seconds = time.perf_counter() - began
    found = evaluate(last.state.model, setup.test, readout=experiment.training.readout)
    return (
        f"{name} seed {experiment.seed}: accuracy {found.accuracy:.4f} ± "
        f"{found.accuracy_stderr:.4f} of {best.accuracy:.4f}, loss {found.nll:.4f} ± "
        f"{found.nll_stderr:.4f} nats of {best.nll:.4f}, {seconds:.0f} s with compilation"
    )


if __name__ == "__main__":
    main(sys.argv[1:] or [name for name in PRESETS if name.startswith(_SOLVED)])
