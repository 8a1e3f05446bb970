"""`attnlab check`: laws of a process, and sequences of others."""

import csv
import io
import json
import re

import pytest

from attnlab.generators import Mess3
from attnlab.optimum.exact_table import exact_table
from attnlab.registering import unregister
from attnlab.runs.option_texts import read_generator
from attnlab.testing.law_report import LawReport

pytestmark = pytest.mark.usefixtures("as_users_run")

OWN = '''
import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from attnlab import register
from attnlab.generators import AbstractHiddenChain
from attnlab.generators.vocabulary import Vocabulary


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(AbstractHiddenChain):
    """Two hidden states; {what}."""

    name: ClassVar[str] = "{name}"
    summary: ClassVar[str] = "For a test."
    vocabulary: ClassVar[Vocabulary] = Vocabulary(symbols=("A", "B"), names=("A", "B"))
    hidden_states: ClassVar[tuple[str, ...]] = ("one", "two")

    @property
    def transitions(self):
        return np.array([[[0.6, 0.1], [0.1, 0.2]], [[0.1, 0.2], [0.1, 0.6]]])
{more}
'''
FAULTS = {
    "right": ("", ""),
    # A slip of one belief: it forgets half of the past.
    "forgetful": (
        "    def update(self, belief, token):\n"
        "        return 0.5 * super().update(belief, token)\n",
        "the probabilities of all sequences sum to 1",
    ),
    # A sampler that emits from the state after the move.
    "late": (
        "    def draw(self, start, key, length):\n"
        "        drawn = super().draw(start, key, length)\n"
        "        return drawn._replace(tokens=drawn.latent)\n",
        "sequences and continuations are drawn",
    ),
    "other-state": (
        "    def draw(self, start, key, length):\n"
        "        drawn = super().draw(start, key, length)\n"
        "        return drawn._replace(latent=1 - drawn.latent)\n",
        "beliefs are the distribution",
    ),
    "raises": (
        "    def log_probs(self, belief):\n        raise KeyError('no such state')\n",
        "its probabilities can be computed: KeyError",
    ),
}


@pytest.fixture
def own(tmp_path):
    """Writes a process with a fault to a file, and forgets it in the end."""
    names = []

    def write(fault):
        name = f"own-{fault}"
        file = tmp_path / f"checked_{fault.replace('-', '_')}.py"
        file.write_text(OWN.format(what=fault, name=name, more=FAULTS[fault][0]))
        names.append(name)
        return str(file)

    yield write
    for name in names:
        unregister(type(read_generator(name, {})))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_process_is_named(run, own, fault):
    status, out, err = run("check", own(fault), "--length", "4")
    expected = FAULTS[fault][1]
    failed = [line for line in out.splitlines() if line.startswith("  ✗")]
    assert status == bool(expected), err
    assert "Traceback" not in out + err
    assert bool(failed) == bool(expected)
    if expected:
        assert failed[0].startswith(f"  ✗ {expected}")
    else:
        assert "Up to 4 tokens never determine the hidden state." in out


@pytest.mark.slow
def test_named_processes_hold_and_say_whether_the_state_is_hidden(run):
    status, out, _ = run("check", "golden-mean", "--length", "3", "--json")
    (found,) = json.loads(out)["processes"]
    assert status == 0
    assert {law["problem"] for law in found["laws"]} == {""}
    assert found["certain_after"] == pytest.approx([0, 1, 1, 1])
    words = "From 1 token on, the tokens determine the hidden state."
    assert words in run("check", "golden-mean", "--length", "3")[1]


@pytest.mark.slow
def test_own_samples_agree_and_those_of_another_rate_do_not(run, tmp_path):
    file = tmp_path / "sequences.txt"
    for rate, status, words in (
        ("0.85", 0, "No deviation at the level 1%"),
        ("0.75", 1, "the law says"),
    ):
        text = run("sample", "mess3", "--a", rate, "--size", "1000")[1]
        # As an editor on Windows writes it.
        file.write_text("\ufeff" + text.replace("\n", "\r\n"), encoding="utf-8", newline="")
        found = run("check", "mess3", "--samples", str(file))
        assert (found[0], words in found[1]) == (status, True), found
        report = json.loads(run("check", "mess3", "--samples", str(file), "--json")[1])
        assert report["tokens"] == 11_000
        assert (min(test["adjusted"] for test in report["tests"]) < 0.01) == status
    lines = found[1].splitlines()
    assert lines[0] == "1,000 sequences of mess3 (x 0.05, a 0.85, noise 0.0), 11,000 tokens"
    assert lines[1].startswith("  ✓ without context: χ² ")
    assert lines[2].startswith("  ✗ after 1 token: χ² ")
    # The largest deviation of each rejected test.
    far = [test["deviation"] for test in report["tests"] if test["adjusted"] < 0.01]
    shown = [line for line in lines if "the law says" in line]
    assert len(shown) > 1
    for each, line in zip(far, shown, strict=True):
        assert f"({each['visits']:,} places, {each['errors']:.1f} standard errors)" in line
    numbers = text.translate(str.maketrans({"A": "0,", "B": "1,", "C": "2 ", "→": " "}))
    file.write_text(numbers.replace(",", ", "))
    assert run("check", "mess3", "--samples", str(file))[1] == found[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no sequences"),
        (b"\n \r\n", "no sequences"),
        (b"AAB\nAXB\n", "line 2"),
        (b"0 1 7\n", "not in this alphabet"),
        (b"A\x00B\n", "line 1"),
        (b"0 1 2\nA B C\n", "line 1"),
        (b"AABCA\n", "too few tokens to test"),
        (b"\xff\x00A", "not text in UTF-8"),
        (None, "No such file"),
    ],
)
def test_bad_files_are_refused_in_one_line(run, tmp_path, content, message):
    file = tmp_path / "sequences.txt"
    if content is not None:
        file.write_bytes(content)
    status, out, err = run("check", "mess3", "--samples", str(file))
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_an_impossible_token_and_another_length_are_said(run, tmp_path):
    file = tmp_path / "sequences.txt"
    file.write_text("1 0 1\n1 0 0 1\n")
    status, out, _ = run("check", "golden-mean", "--samples", str(file))
    assert status == 1
    assert "Impossible: sequence 2 has 0 after 10." in out
    file.write_text("A B\n")
    status, _, err = run("check", "cards", "--samples", str(file))
    assert status == 2
    assert "`samples`" in err


def test_digits_are_symbols_where_a_process_has_such(run, tmp_path):
    file = tmp_path / "sequences.txt"
    file.write_text("0 1\n" * 200)
    status, out, _ = run("check", "even", "--samples", str(file))
    assert (status, "Impossible" in out) == (1, False)
    assert run("check", "even", "--samples", str(file), "--length", "3")[0] == 2


# The laws of all processes are checked without the command, in `test_generators.py`.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["markov", "mess3", "recall", "causal-tree"])
def test_a_process_holds_its_laws(run, name):
    status, out, _ = run("check", name)
    assert (status, "✗" in out) == (0, False)
    assert out.count("✓") >= 6


def test_more_sequences_than_can_be_checked_are_refused(run):
    status, _, err = run("check", "cards")
    assert status == 2
    assert re.search(r"`process` is '.*': \d+\^\d+ sequences are too many to check all", err)


def test_own_sequences_have_no_laws_to_check(run):
    status, _, err = run("check", "sequences")
    assert (status, "it has no law. No one knows the law" in err) == (2, True)


def test_a_known_state_that_is_lost_again_is_not_said_to_be_known():
    words = LawReport(4, (), (1.0, 0.0, 0.3, 0.0, 0.4)).visibility
    assert words.startswith("After 4 tokens, the tokens determine the hidden state in 40 % of all")
    assert "From 3 tokens on" in LawReport(4, (), (0.0, 1.0, 0.5, 1.0, 1.0)).visibility


def test_a_file_without_a_process_is_refused(run, tmp_path):
    file = tmp_path / "registers_nothing.py"
    file.write_text("x = 1\n")
    status, _, err = run("check", str(file))
    assert status == 2
    assert "registers no process" in err


def test_the_table_is_csv_of_the_exact_law(run):
    status, out, _ = run("optimum", "mess3", "--csv", "--length", "2")
    head, *rows = csv.reader(io.StringIO(out))
    assert status == 0
    assert head == [
        "past", "probability", "belief in state A", "belief in state B", "belief in state C",
        "next A", "next B", "next C",
    ]  # fmt: skip
    pasts = list(exact_table(Mess3(), 2))
    assert [row[0] for row in rows] == [Mess3().vocabulary.render(past.tokens) for past in pasts]
    for row, past in zip(rows, pasts, strict=True):
        expected = [past.probability, *past.belief, *past.next_probs]
        assert list(map(float, row[1:])) == pytest.approx(expected, abs=1e-5)
