"""Rows as JSON values and as CSV."""

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnlab.comparisons.summary import Row, figures_of, interval_of
from attnlab.configuration.options import present

_BY_POSITION = "test_nll_by_position"


def to_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return every row as a JSON object.

    First come the options that differ between rows, by their names on screen such as `MLP width`,
    null if a row has no such option. `seeds` runs
    were tried and `finished` of them have results; `unfinished` says why the others have none.
    `test_accuracy`, `test_nll`, `learned` and, if any row has them, `exact_match` and
    `mean_test_nll`, over all positions in the loss, have the `mean` over seeds and its interval
    from `low` to `high`, null if unknown. `by_seed` has the same results of every seed, `doubts`
    the reasons why an interval may be unreliable (keys of `intervals.DOUBTS`). With `mean_test_nll`
    there is `test_nll_by_position`: `positions`, from 0, and the loss at each of them, with its
    standard error, of every seed. `reached`: how many `runs` reached the level `share` (of what
    can be learned, or of correct targets in a task), and the Wilson interval of their share.
    `floor` and the loss of the references are in nats, `seconds` is the training time of a run.
    `metrics`, if any row has some, are the caller's at the last step: `mean`, `low`, `high`,
    `by_seed`.
    """
    names, metrics = differing_options(rows), dict.fromkeys(n for row in rows for n in row.metrics)
    some = {"exact_match": "exact_match", "mean_test_nll": "mean_nll"}
    figures = {"test_accuracy": "accuracy", "test_nll": "nll", "learned": "learned"} | {
        name: figure
        for name, figure in some.items()
        if any(getattr(row, figure) is not None for row in rows)
    }
    return [_record(row, names, figures, tuple(metrics)) for row in rows]


def to_csv(rows: Sequence[Row]) -> str:
    """Return the records of `to_records` as CSV with a header, without losses by position.

    Unknown cells are empty. Nested values of a record have a column each, such as `test_nll_low`. A
    text that a spreadsheet would compute as a formula has an apostrophe before it.
    """
    records = to_records(rows)
    for record in records:
        record.pop(_BY_POSITION, None)
    flat = [{name: _as_text(value) for name, value in _flattened(each)} for each in records]
    columns = list(dict.fromkeys(name for record in flat for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def differing_options(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the options that differ between rows, in the given order."""
    tables = [dict(row.setting.options) for row in rows]
    names = dict.fromkeys(name for table in tables for name in table)
    return tuple(name for name in names if len({table.get(name) for table in tables}) > 1)


def _record(
    row: Row, names: Sequence[str], figures: Mapping[str, str], metrics: Sequence[str]
) -> dict[str, Any]:
    options, known = dict(row.setting.options), row.references
    best = known and known.best
    found = {name: interval_of(row, figure) for name, figure in figures.items()}
    count = row.reached
    return {
        **{name: _value(options.get(name)) for name in names},
        "seeds": len(row.results),
        "finished": len(row.finished),
        **{name: _parts(interval, *_INTERVAL) for name, interval in found.items()},
        **({_BY_POSITION: _by_position(row)} if "mean_test_nll" in figures else {}),
        **({"metrics": {name: _metric(row, name) for name in metrics}} if metrics else {}),
        **_parts(best, floor="nll", floor_stderr="nll_stderr"),
        **_parts(best, ceiling="accuracy", ceiling_stderr="accuracy_stderr"),
        **{
            name: _parts(known and getattr(known, name), "nll", "accuracy")
            for name in ("uniform", "majority", "linear")
        },
        "parameters": row.parameters,
        "seconds": row.seconds,
        "steps_to_target": _parts(
            row.to_target, share="target", median="median", reached="reached", tested="n"
        ),
        "reached": _parts(count, share="target", runs="runs", of="n")
        | _parts(count and count.share, "low", "high"),
        "by_seed": {name: _by_seed(row, figure) for name, figure in figures.items()},
        "doubts": {name: " ".join(each.doubts) if each else "" for name, each in found.items()},
        "unfinished": [dataclasses.asdict(run) for run in row.unfinished],
    }


_INTERVAL = ("mean", "low", "high")


def _parts(thing: Any, *names: str, **fields: str) -> dict[str, Any]:
    """Return attributes by name, and others by a name of their own; None if there is no thing."""
    wanted = {name: name for name in names} | fields
    return {name: thing and getattr(thing, field) for name, field in wanted.items()}


def _value(text: str | None) -> int | float | str | None:
    """Return a text as a number, if it is one."""
    if text is None:
        return None
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        # JSON has no infinite numbers and no NaN.
        return number if math.isfinite(number) else text
    return text


def _metric(row: Row, name: str) -> dict[str, Any]:
    return _parts(row.metrics.get(name), *_INTERVAL) | {"by_seed": _by_seed(row, name)}


def _by_position(row: Row) -> dict[str, Any]:
    known = {run.experiment.seed: present(run.evaluation).by_position for run in row.finished}
    found = {str(seed): of for seed, of in known.items() if of is not None}
    return {
        "positions": list(next(iter(found.values())).positions) if found else [],
        "by_seed": {
            seed: {
                "nll": list(of.nll),
                "nll_stderr": [error if math.isfinite(error) else None for error in of.nll_stderr],
            }
            for seed, of in found.items()
        },
    }


def _by_seed(row: Row, figure: str) -> dict[str, float]:
    if interval_of(row, figure) is None:
        return {}
    return {str(seed): value for seed, value in figures_of(row, figure).items()}


def _flattened(record: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from ((f"{name}_{part}", inner) for part, inner in _flattened(value))
        elif isinstance(value, list):
            yield name, "; ".join(map(_in_words, value))
        else:
            yield name, value


def _as_text(value: Any) -> Any:
    """Return a cell that spreadsheets do not compute. Numbers are unchanged."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def _in_words(run: dict[str, Any]) -> str:
    who = "" if run["seed"] is None else f"seed {run['seed']} "
    return f"{who}{run['state']}: {run['reason']}"
