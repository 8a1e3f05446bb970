"""Letters that is invisible: refused in symbols and in names of runs, never printed."""

import dataclasses
import json

import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Custom
from attnlab.runs.library import Library
from attnlab.training.experiment import Experiment, from_json, to_json
from tests.unit.kept_results import result_of

pytestmark = pytest.mark.usefixtures("as_users_run")

INVISIBLE = {
    "zero width": "\u200b",
    "joiner": "\u200d",
    "right to left": "\u202e",
    "byte order": "\ufeff",
    "soft hyphen": "\u00ad",
    "Hangul filler": "\u3164",
    "blank of Braille": "\u2800",
    "text form": "\ufe0e",
    "tag": "\U000e0041",
    "null": "\0",
    "escape": "\x1b",
    "C1 control": "\x9b",
    "unassigned": "\u0378",
    "half": "\ud83d",
}
VISIBLE = [
    "é", "가", "日本", "ﬁ", "٣", "नि",
    "👩‍🚀", "👩🏽‍🚀", "❤️‍🔥", "🇫🇷", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏳️‍🌈", "🏴‍☠️", "1️⃣", "☀️", "🙂‍↔️", "👍🏽",
    "\U0001fae9", "a_b-c", "=HYPERLINK(1)",
]  # fmt: skip
SPACES = {"line": "\u2028", "next line": "\x85", "file separator": "\x1c"}
LONE = {
    "emoji form": "\ufe0f",
    "a mark of nothing": "\u0301",
    "a flag without its end": "🏴\U000e0067",
}


def described(**words):
    library = Library(None)
    number = library.keep(result_of())
    library.describe(number, **words)
    return library.entry(number)


# Every place where untrusted text is taken as a name of something.
PLACES = {
    "symbols": lambda text: Custom(symbols=f"{text} 🐶 🦊"),
    "name": lambda text: described(name=text),
    "tags": lambda text: described(tags=[text]),
    "note": lambda text: described(note=text),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("letter", [*INVISIBLE.values(), *LONE.values()], ids=[*INVISIBLE, *LONE])
def test_a_letter_that_cannot_be_seen_is_refused_by_its_code(place, letter):
    # White space around a text is left out, and a mark belongs to a letter.
    for text in (letter,) if letter in LONE.values() else (f"x{letter}x", f"☀️{letter}x"):
        with pytest.raises(OptionError, match=rf"`{place}` .*U\+{ord(letter[-1]):04X} "):
            PLACES[place](text)


@pytest.mark.parametrize("letter", SPACES.values(), ids=SPACES)
def test_white_space_that_a_terminal_obeys_is_refused_or_a_space(letter):
    for place in PLACES.keys() - {"symbols"}:
        with pytest.raises(OptionError, match=rf"`{place}` .*is invisible"):
            PLACES[place](f"x{letter}x")
    assert Custom(symbols=f"x{letter}y\tz").symbols == "x y z"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", VISIBLE)
def test_letters_of_any_script_and_emoji_are_taken(place, text):
    PLACES[place](text)


def test_equal_letters_are_one_in_options_and_words():
    one, other = Custom(symbols="é x y"), Custom(symbols="e\u0301 x y")
    assert one == other
    assert hash(one) == hash(other)
    experiment = dataclasses.replace(Experiment(), generator=other)
    assert from_json(to_json(experiment)) == dataclasses.replace(Experiment(), generator=one)
    assert described(tags=["é", "e\u0301"]).tags == ("é",)


def test_runs_that_another_program_wrote_are_printed_in_visible_letters(
    run, library, tmp_path, monkeypatch
):
    hostile = "\x1b[2J\x9b31m\n\u202e" + "".join(set(INVISIBLE.values()) - {"\ud83d"})
    library.keep(result_of(state="failed", reason="why"), name="kept", tags=["a"])
    file = tmp_path / "library" / "runs" / "1.json"
    words = dict.fromkeys(("name", "reason", "note"), hostile) | {"tags": hostile.replace("\n", "")}
    file.write_text(json.dumps(json.loads(file.read_text()) | words))
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "library"))
    for arguments in (("list",), ("list", "--json"), ("show", 1), ("show", 1, "--json")):
        status, out, err = run("runs", *arguments)
        assert (status, err) == (0, "")
        assert out.replace("\n", "").isprintable()
