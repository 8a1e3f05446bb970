"""Follow the advice after a short run of every process and family: `python -m tools.advice`.

Prints a line for each advice: how much the loss fell on the same sequences, in nats and in standard
errors. An advice that gains less than two errors is a fault. All pairs take some three hours on one
core.
"""

import dataclasses
from collections.abc import Iterator

import jax

from attnlab import GENERATORS, TASKS, Experiment, Training
from attnlab.configuration.options import OptionError
from attnlab.inspection.advice import advice_for
from attnlab.inspection.strategies import has_references
from attnlab.models import ALL_MODELS, TransformerOptions
from tests.unit.test_advice import losses_of, trained

# A shorter run cannot be told from one that fails, and a longer sequence takes longer.
_SHORT = Training(steps=300, data="fresh", batch=64, learning_rate=0.005, test_size=500)
_LENGTHS, _MOST_STEPS = (6, 12), 3


def main() -> None:
    """Follow the advice of each short run, up to three times in a row."""
    for experiment in short_runs():
        family, process = experiment.model.name, experiment.generator.name
        # Programs of other shapes are of no more use.
        jax.clear_caches()
        for _ in range(_MOST_STEPS):
            _, model, happened = trained(experiment)
            if (advice := advice_for(experiment, happened)) is None:
                break
            _, advised, after = trained(advice.experiment)
            gains = losses_of(experiment, model) - losses_of(advice.experiment, advised)
            error = gains.std(ddof=1) / len(gains) ** 0.5
            print(
                f"{family}, {process}, {advice.action}: learned {happened.learned:.3f} → "
                f"{after.learned:.3f}, gain {gains.mean():.4f} nats, {gains.mean() / error:.1f} "
                "errors",
                flush=True,
            )
            experiment = advice.experiment


def short_runs() -> Iterator[Experiment]:
    """Return a short run of each process with each family that can read it."""
    for family in ALL_MODELS.values():
        model = family()
        if isinstance(model, TransformerOptions):
            model = dataclasses.replace(model, heads=1)
        for process in (kind() for kind in (*GENERATORS.values(), *TASKS.values())):
            tests_all = process.has_loss_mask() or has_references(process)
            loss = "next" if tests_all else "last"
            try:
                length = Experiment(
                    generator=process, model=model, training=Training(loss=loss)
                ).length
                if not process.prompt_length():
                    length = min(max(length, _LENGTHS[0]), _LENGTHS[1])
                yield Experiment(
                    generator=process,
                    length=length,
                    model=model,
                    training=dataclasses.replace(_SHORT, loss=loss),
                )
            except OptionError:
                # This family cannot read this process.
                continue


if __name__ == "__main__":
    main()
