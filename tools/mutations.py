"""Break the core on purpose, in one place at a time, and see whether the tests notice.

    python -m tools.mutations [words of the paths to break]

Each of `MUTATIONS` is applied alone to a copy of the tree, in which the everyday tests of the
files it names are run. What they pass nevertheless has survived: a test is missing. The status is
1 if any did.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "screenshots")
_PASSED, _FAILED, _INTERRUPTED, _NONE_CHOSEN = 0, 1, 2, 5


class Mutation(NamedTuple):
    """`before` stands in `attnlab/<file>` once; `tests` are files of `tests/unit` in words."""

    file: str
    before: str
    after: str
    tests: str


MUTATIONS = (
    Mutation(
        "attention/head.py", "keys[None, :] <= queries[:, None]",
        "keys[None, :] < queries[:, None]", "attention",
    ),
    Mutation(
        "attention/head.py", "keys[None, :] >= queries[:, None]",
        "keys[None, :] > queries[:, None]", "attention",
    ),
    Mutation(
        "attention/head.py", "score.scores(query, key) + bias",
        "score.scores(query, key) - bias", "attention kernel_regression",
    ),
    Mutation("attention/head.py", "d_attn**-0.5", "d_attn**-1.0", "attention models"),
    Mutation(
        "attention/head.py", '"temperature": 1 / temperature',
        '"temperature": temperature', "attention models",
    ),
    Mutation(
        "attention/head.py", "jnp.where(largest == -jnp.inf, 0.0, largest)",
        "largest", "attention",
    ),
    Mutation("attention/head.py", "jnp.where(total == 0, 1.0, total)", "total", "attention"),
    Mutation("attention/products.py", "@ key.T + by_key", "@ key.T", "attention"),
    Mutation("attention/products.py", "@ value + by_value", "@ value", "attention"),
    Mutation(
        "attention/chunked.py",
        "unmasked = mask(positions, key_positions) & (key_positions < keys)[None, :]",
        "unmasked = mask(positions, key_positions)", "chunked_attention",
    ),
    Mutation(
        "attention/chunked.py", "earlier * sums.weight + weights.sum(axis=1)",
        "sums.weight + weights.sum(axis=1)", "chunked_attention",
    ),
    Mutation("attention/scores.py", "query.shape[1] ** -0.5", "query.shape[1] ** 0.5", "scores"),
    Mutation(
        "attention/scores.py", "/ (2 * bandwidth**2)",
        "/ bandwidth**2", "scores kernel_regression",
    ),
    Mutation(
        "positions/alibi.py", "-(self.slope**power)",
        "(self.slope**power)", "positions models",
    ),
    Mutation(
        "positions/rotary.py", "even * cos - odd * sin",
        "even * cos + odd * sin", "positions",
    ),
    Mutation("positions/rotary.py", "/ max(width, 1)", "/ max(width - 1, 1)", "positions"),
    Mutation(
        "positions/sinusoidal.py", "waves(jnp.arange(length)",
        "waves(1 + jnp.arange(length)", "positions",
    ),
    Mutation(
        "positions/blog.py", "np.arange(2, width + 2)",
        "np.arange(1, width + 1)", "positions",
    ),
    Mutation(
        "positions/scalar.py", "from_one(length)[:, None]",
        "(from_one(length) - 1)[:, None]", "positions",
    ),
    Mutation("models/linear.py", "jnp.arange(1, length + 1)", "jnp.arange(length)", "models"),
    Mutation(
        "positions/alibi.py", "8 * (head + 1) / heads", "8 * head / heads", "positions models",
    ),
    Mutation("models/transformer/layer.py", "before + made if", "made if", "models"),
    Mutation(
        "models/transformer/layer.py", "self.as_read(rows, 1, options)",
        "self.as_read(rows, 0, options)", "models",
    ),
    Mutation(
        "models/transformer/layer.py", "queries.at[places]", "places.at[places]", "models",
    ),
    Mutation(
        "models/transformer/cached.py", "Cache(cache.position + 1,", "Cache(cache.position,",
        "transformer",
    ),
    Mutation(
        "models/transformer/encoder_decoder_model.py", "(position == 0)", "(position == 1)",
        "source_models",
    ),
    Mutation("training/losses.py", ") < share)", ") > share)", "scheduled_sampling"),
    Mutation("models/conv.py", "tap * stride", "(tap + 1) * stride", "models"),
    Mutation("models/conv.py", "self.dilation**layer", "self.dilation * layer + 1", "models"),
    Mutation("models/recurrent/ssm.py", "jnp.expm1(-2 * rates)", "jnp.expm1(-rates)", "models"),
    Mutation("models/recurrent/rnn.py", "state @ self.carried", "state", "models"),
    Mutation(
        "models/parts/head_parts.py", "position.turn(query, queries)",
        "position.turn(query, jnp.arange(queries.size))", "models",
    ),
    Mutation(
        "models/padded.py", "np.float32(gain) * np.asarray(part)",
        "np.asarray(part)", "sweep",
    ),
    Mutation(
        "models/generation.py", "number), logits / temperature",
        "number), logits * temperature", "generation",
    ),
    Mutation(
        "models/generation.py", "jnp.append(window[1:], token)",
        "jnp.append(token, window[:-1])", "generation",
    ),
    Mutation("models/generation.py", ".at[0].set(0.0)", ".at[:].set(0.0)", "generation"),
    Mutation("models/readout.py", '"last": length - 1', '"last": length - 2', "losses evaluation"),
    Mutation("generators/markov.py", "rows[belief.last]", "rows[:, belief.last]", "generators"),
    Mutation(
        "generators/hmm.py", "jnp.log(jnp.array(self.moving)), axis=0",
        "jnp.log(jnp.array(self.moving).T), axis=0", "hmm generators",
    ),
    Mutation(
        "generators/ndays.py", "memory=self.n - 1",
        "memory=self.n - 2", "generators stationary_streams",
    ),
    Mutation(
        "generators/chain.py",
        "distribution[members] = np.exp(np.logaddexp.reduce(mass[members]) + within)",
        "distribution[members] = np.exp(within)", "chain",
    ),
    Mutation("generators/chain.py", "into -= np.logaddexp.reduce(out)", "into -= 0", "chain"),
    Mutation("generators/dotmod.py", "/ (size - 1))", "/ size)", "generators stationary_streams"),
    Mutation("optimum/best.py", "-(probs * np.log(safe))", "(probs * np.log(safe))", "optimum"),
    Mutation("optimum/best.py", "next_probs.max(axis=1)", "next_probs.min(axis=1)", "optimum"),
    Mutation(
        "optimum/best.py", "Best(nll, accuracy, nll_stderr, accuracy_stderr)",
        "Best(nll, accuracy)", "sampled",
    ),
    Mutation(
        "optimum/sampled.py", "values.std(ddof=1) / np.sqrt(values.size)",
        "values.std(ddof=1) / values.size", "sampled",
    ),
    Mutation(
        "optimum/dependence.py", "0.5 * np.abs(one - other)",
        "np.abs(one - other)", "dependence influence",
    ),
    Mutation(
        "optimum/dependence.py", "varying = moved + np.array(slopes)[sequences.tokens[:, key]]",
        "varying = moved", "sampled dependence",
    ),
    Mutation(
        "optimum/levels.py",
        "same and np.allclose(before.probability, after.probability, rtol=still, atol=0)",
        "same", "optimum frequencies",
    ),
    Mutation(
        "optimum/levels.py", "_ROUNDED if generator.is_stationary() else _STILL",
        "_ROUNDED", "chain",
    ),
    Mutation(
        "optimum/sampled.py", "jr.fold_in(key_of(_SEED), _REFERENCE)",
        "key_of(_SEED)", "sampled",
    ),
    Mutation(
        "optimum/dependence.py", "max(_LEAST_MOVE, _LEAST_SHARE * moves.max())",
        "_LEAST_SHARE * moves.max()", "dependence",
    ),
    Mutation(
        "optimum/frequencies.py", "position == length - 1",
        "position == length", "frequencies",
    ),
    Mutation(
        "optimum/frequencies.py", "same / room - (1 - share) / room**2 * by_marginal.mean(axis=1)",
        "same / room", "frequencies sampled",
    ),
    Mutation(
        "optimum/told.py", "np.concatenate([tokens[:, [position]], counts], axis=1)",
        "counts", "feasibility",
    ),
    Mutation(
        "training/losses.py", "example.tokens[1:, None], axis=1)",
        "example.tokens[:-1, None], axis=1)", "losses",
    ),
    Mutation(
        "training/losses.py", "-of_next.mean(where=example.asked[1:])",
        "-of_next.mean()", "losses",
    ),
    Mutation(
        "training/losses.py", "-log_probs[:, final].sum()",
        "-log_probs[:, final].mean()", "losses",
    ),
    Mutation(
        "training/evaluation.py", "values.std(ddof=1) / np.sqrt(values.size)",
        "values.std(ddof=1)", "evaluation",
    ),
    Mutation(
        "training/evaluation.py", "_mean_and_error(nll - exact)",
        "_mean_and_error(nll)", "evaluation",
    ),
    Mutation("training/evaluation.py", "0.5 / size, 1 - 0.5 / size", "0.0, 1.0", "evaluation"),
    Mutation(
        "training/evaluation.py", "positions + 1, *np.transpose(each)",
        "positions, *np.transpose(each)", "evaluation by_day",
    ),
    Mutation("training/steps.py", "jr.fold_in(key, step)", "jr.fold_in(key, i)", "training loop"),
    Mutation("training/steps.py", "(step + 1) / (last_step + 1)", "step / last_step", "optimisers"),
    Mutation(
        "training/sources.py", "jnp.arange(tokens.shape[1]) >= given",
        "jnp.arange(tokens.shape[1]) > given", "losses evaluation",
    ),
    Mutation(
        "training/learned_share.py", "np.hypot(test.nll_stderr, share * floor.nll_stderr)",
        "test.nll_stderr", "learned",
    ),
    Mutation(
        "training/learned_share.py", " + tokens * above.stderr / 2", "", "learned what_happened",
    ),
    Mutation("training/schedule.py", "{0, *np.round(spaced)", "{*np.round(spaced)", "loop history"),
    Mutation(
        "runs/history.py", "np.arange(span - 1, whole, span)",
        "np.arange(0, whole, span)", "history loss_file",
    ),
    Mutation("runs/history.py", "change.step <= step", "change.step < step", "history"),
    Mutation(
        "runs/history.py", "self.checkpoints[::2] if full",
        "self.checkpoints[1::2] if full", "history",
    ),
    Mutation("runs/loss_file.py", 'training.get(step, "")', "training.get(step, 0)", "loss_file"),
    Mutation("comparisons/intervals.py", "stdtrit(degrees,", "stdtrit(degrees + 1,", "intervals"),
    Mutation("comparisons/intervals.py", "(1 + level) / 2))", "level))", "intervals"),
    Mutation("comparisons/intervals.py", "std(axis=-1, ddof=1)", "std(axis=-1)", "intervals"),
    Mutation("comparisons/intervals.py", "math.hypot(", "max(", "intervals"),
    Mutation(
        "comparisons/intervals.py", "np.maximum(spread, ", "np.minimum(spread, ", "statistics_hold",
    ),
    Mutation(
        "comparisons/intervals.py", "weight / (4 * n)", "weight / (2 * n)", "statistics_hold",
    ),
    Mutation("comparisons/paired.py", "np.minimum(p_values * among, 1.0)", "p_values", "paired"),
    Mutation("comparisons/holm.py", "np.maximum.accumulate(stepped, axis=-1)", "stepped", "holm"),
    Mutation("comparisons/holm.py", "* times, 1.0", "* p_values.shape[-1], 1.0", "holm"),
    Mutation("comparisons/paired.py", "stdtr(n - 1,", "stdtr(2 * n - 2,", "paired"),
    Mutation("comparisons/paired.py", "self.adjusted_p > 1 -", "self.p > 1 -", "paired"),
    Mutation("comparisons/published/literature.py", "(1 - accuracy)", "1", "published"),
    Mutation("comparisons/published/verdicts.py", "* (1 + 1 / ours.size)", "", "published"),
    Mutation(
        "comparisons/published/verdicts.py", "abs(gap) <= NEAR and",
        "abs(gap) < AT and", "published",
    ),
    Mutation(
        "comparisons/published/verdicts.py", "_NEARLY_ALL = 0.8", "_NEARLY_ALL = 0.0", "published",
    ),
    Mutation("comparisons/published/rows.py", "< seeds]", "<= seeds]", "published"),
    Mutation("comparisons/shares.py", "* (total / effect.size)", "", "shares"),
    Mutation(
        "comparisons/shares.py", "cells - mean if axis in chosen",
        "cells if axis in chosen", "shares",
    ),
    Mutation("comparisons/shares.py", "total - total // seeds", "total - 1", "shares"),
    Mutation(
        "comparisons/summary.py", "_share(test, row).share >= target",
        "_share(test, row).share >= 1 - target", "summary",
    ),
    Mutation("comparisons/summary.py", 'result.state == "done" and', "", "summary"),
    Mutation(
        "comparisons/summary.py", "moved * best.nll_stderr",
        "best.nll_stderr", "summary",
    ),
    Mutation(
        "comparisons/summary.py", "_is_finished(result) or not _is_finished(before)",
        "True", "summary",
    ),
    Mutation("comparisons/gap.py", "1 - (1 - level) / statements", "level", "gap"),
    Mutation(
        "comparisons/gap.py", "reachable.exact and experiment.model.attains_reachable",
        "reachable.exact", "gap",
    ),
    Mutation(
        "comparisons/gap.py", "is not None and experiment.model.attains_reachable:",
        "is not None:", "gap",
    ),
    Mutation("comparisons/gap.py", "max(at_least, limit", "max(0.0, limit", "gap"),
    Mutation(
        "comparisons/gap.py", "training.train_size if full else training.batch",
        "training.batch", "gap",
    ),
    Mutation(
        "comparisons/gap.py", "experiment.model, experiment.read_position",
        "experiment.model", "gap",
    ),
    Mutation(
        "inspection/predictions.py", "final * vocab + probs.argmax(axis=1)",
        "final + vocab * probs.argmax(axis=1)", "inspection",
    ),
    Mutation(
        "inspection/calibration.py", "np.minimum(held * share, 1.0)",
        "np.minimum((held > 0) * share, 1.0)", "calibration",
    ),
    Mutation(
        "inspection/surprise.py", "true[possible] / model[possible]",
        "model[possible] / true[possible]", "inspection",
    ),
    Mutation(
        "inspection/transitions.py", "size * (size - 1.0)",
        "size - 1.0", "likelihood_ratio",
    ),
    Mutation(
        "inspection/likelihood_ratio.py", ".sum() >= observed",
        ".sum() <= observed", "likelihood_ratio",
    ),
    Mutation(
        "optimum/dependence.py", "share *= possible(changed)[:, -queries:]",
        "pass", "influence",
    ),
    Mutation(
        "optimum/grouped.py", "mean_and_error(with_it - without_it)",
        "mean_and_error(with_it / counts[group])", "grouped",
    ),
    Mutation("lessons/stages.py", "rows[: t + 1]", "rows[: t + 2]", "averages"),
    Mutation(
        "lessons/saturation.py", "1 - (pattern**2).sum(axis=-1)",
        "1 - pattern.max(axis=-1)", "saturation",
    ),
    Mutation(
        "lessons/saturation.py", "variance**2 * (size - 3) / (size - 1)",
        "variance**2 * 0", "saturation",
    ),
    Mutation(
        "lessons/geometry.py", "matrix[cosines, sines] = -np.sin",
        "matrix[cosines, sines] = np.sin", "geometry",
    ),
    Mutation(
        "lessons/geometry.py", "np.diagonal(pairs, -k)",
        "np.diagonal(pairs, -0 * k)", "geometry",
    ),
    Mutation(
        "lessons/kernel_regression.py", "~jnp.eye(points, dtype=bool)",
        "jnp.ones((points, points), dtype=bool)", "kernel_regression",
    ),
    Mutation(
        "lessons/stages.py", "pattern[:, :, None] * value[None, :, :]",
        "pattern[:, :, None] + value[None, :, :]", "stages",
    ),
    Mutation(
        "lessons/small_models.py", "scores = keys @ query",
        "scores = encoded[:, : len(query)] @ query", "bottleneck",
    ),
    Mutation("lessons/sweep.py", "return (1 - share) *", "return share *", "sweep"),
)  # fmt: skip


def mutated(mutation: Mutation, text: str) -> str:
    """The text with the mutation. Refused: one whose place is not found exactly once."""
    times = text.count(mutation.before)
    if times != 1:
        raise ValueError(f"{mutation.file} has {mutation.before!r} {times} times, not once.")
    return text.replace(mutation.before, mutation.after)


def test_files(mutations: Iterable[Mutation]) -> list[str]:
    """The test files that they name, once each."""
    names = dict.fromkeys(name for mutation in mutations for name in mutation.tests.split())
    return [f"tests/unit/test_{name}.py" for name in names]


def passes(tree: Path, files: Sequence[str]) -> bool:
    """Whether these tests pass in the tree. One that cannot be imported has noticed, too."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-m", "not slow", *files]
    # Most programs are not touched by a mutation, and need not be compiled again.
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(tree.parent / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    ran = subprocess.run(
        command, cwd=tree, env=os.environ | kept, capture_output=True, text=True, check=False
    )
    if ran.returncode not in (_PASSED, _FAILED, _INTERRUPTED, _NONE_CHOSEN):
        raise RuntimeError(f"The tests did not run.\n{ran.stdout}{ran.stderr}")
    return ran.returncode in (_PASSED, _NONE_CHOSEN)


def run(mutations: Sequence[Mutation], *, checked: bool = True) -> list[Mutation]:
    """Apply one after the other, and print what became of it; the survivors."""
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=_LEFT_OUT)
        if checked and not passes(tree, test_files(mutations)):
            raise RuntimeError("The tests fail without any mutation.")
        for number, mutation in enumerate(mutations, 1):
            place = tree / "attnlab" / mutation.file
            text = place.read_text(encoding="utf-8")
            place.write_text(mutated(mutation, text), encoding="utf-8")
            survived = passes(tree, test_files([mutation]))
            place.write_text(text, encoding="utf-8")
            survivors += [mutation] if survived else []
            word = "SURVIVED" if survived else "killed"
            change = f"{mutation.before}  →  {mutation.after}"
            print(f"{number:3} {word:9}{mutation.file}: {change}", flush=True)
    killed = len(mutations) - len(survivors)
    print(f"{killed} of {len(mutations)} killed, {killed / len(mutations):.0%}")
    return survivors


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="only files with one of these in their path")
    parser.add_argument(
        "--unchecked", action="store_true", help="do not run the tests without a mutation first"
    )
    asked = parser.parse_args()
    chosen = [m for m in MUTATIONS if not asked.words or any(w in m.file for w in asked.words)]
    if not chosen:
        parser.error("No file that is broken has such a word in its path.")
    return 1 if run(chosen, checked=not asked.unchecked) else 0


if __name__ == "__main__":
    sys.exit(main())
