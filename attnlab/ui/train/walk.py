"""The session's runs on one process, each with its name and the share that it learned."""

from attnlab.inspection.advice import Advice
from attnlab.live.live_run import LiveRun
from attnlab.optimum import optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.shares import learned_share
from attnlab.ui.core.figures import figure
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import current_name

# The most earlier runs that are shown.
_MOST_EARLIER = 5


def note_advice(advice: Advice) -> None:
    """Name the advised experiment after the advice."""
    session().run_names.setdefault(advice.experiment, advice.name)


def walk_of(run: LiveRun, snapshot: Snapshot, test: Evaluation | None) -> tuple[str, str] | None:
    """Return what each run on the process of the current one learned, and its error, in words.

    `test` is the evaluation of the current run that is shown, if there is one. None for a first
    run.
    """
    current = snapshot.experiment
    best = figure(optimum, current.generator, current.length)
    earlier = [past for past in session().past_runs if _is_comparable(past.experiment, current)]
    tests = [(past.name, past.evaluation) for past in earlier if past.evaluation is not None]
    if best is None or not tests:
        return None
    vocab = current.generator.vocabulary.size
    names, errors = [], []
    for name, evaluation in [*tests[-_MOST_EARLIER:], (current_name(run), test)]:
        name = as_text(name)
        if evaluation is not None:
            share = learned_share(evaluation, best.final, vocab)
            if share is not None:
                name += f" {100 * share.share:.0f} %".replace("-", "−")
                errors.append(100 * share.stderr)
        names.append(name)
    return (
        f"Learned: {' → '.join(names[:-1])} → **{names[-1]}**",
        "Share of what can be learned, by earlier runs of this session and by this one. "
        f"Its largest standard error over the test sequences is {max(errors, default=0):.1f} "
        "percentage points.",
    )


def _is_comparable(experiment: Experiment, other: Experiment) -> bool:
    process = experiment.generator, experiment.length
    return process == (other.generator, other.length) and experiment != other
