"""Lessons in a folder of the server: read by their short names, and nothing else is."""

import pytest

from attnlab.configuration.options import OptionError
from attnlab.runs.links import Lesson, from_query, lesson_names, read_lesson, to_query
from attnlab.training.experiment import Experiment

ADDRESS = "https://example.org/inspect?v=2&seed=7&title=Which+mask%3F&text=a%0Ab#top"


@pytest.fixture
def folder(tmp_path):
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    (tmp_path / "secret.txt").write_text("v=2&title=secret")
    (lessons / "masks.txt").write_text(f" {ADDRESS}\n")
    (lessons / "Masks.txt").write_text(ADDRESS)
    (lessons / "week-2.txt").write_text("v=2&seed=8")
    (lessons / "empty.txt").write_text("")
    (lessons / "notes.md").write_text("v=2")
    (lessons / "folder.txt").mkdir()
    return lessons


def test_a_file_holds_a_whole_link_or_its_parameters(folder):
    link = from_query(read_lesson(folder, "masks"))
    assert (link.experiment, link.lesson) == (
        Experiment(seed=7),
        Lesson("Which mask?", "a\nb"),
    )
    assert (link.notices, link.unknown) == ((), ())
    assert from_query(read_lesson(folder, "week-2")).experiment == Experiment(seed=8)
    (folder / "own.txt").write_text("?" + "&".join(f"{k}={v}" for k, v in to_query(
        Experiment(seed=9)).items()))  # fmt: skip
    assert from_query(read_lesson(folder, "own")).experiment == Experiment(seed=9)


@pytest.mark.parametrize(
    "name",
    ["none", "", ".", "..", "../secret", "..%2Fsecret", "/etc/passwd", "masks.txt", "masks\n",
     "Masks", "notes", "folder", "a/../masks", "masks\0", "m\u00e4sks", "-masks", "x" * 41],
)  # fmt: skip
def test_other_names_open_nothing(folder, name):
    with pytest.raises(OptionError, match=r"(?s)`lesson` is .*no lesson on this server"):
        read_lesson(folder, name)


def test_without_a_folder_no_name_opens_anything(tmp_path):
    for folder in (None, tmp_path / "missing"):
        with pytest.raises(OptionError, match="no lesson on this server"):
            read_lesson(folder, "masks")


def test_a_file_without_a_link_is_named(folder):
    (folder / "binary.txt").write_bytes(b"\xff" * 200_000)
    for name in ("empty", "binary"):
        with pytest.raises(OptionError, match=f"`lesson` is '{name}': a lesson without a link"):
            read_lesson(folder, name)


def test_the_list_has_the_names_that_can_be_opened(folder, tmp_path):
    assert lesson_names(folder) == ("empty", "masks", "week-2")
    assert lesson_names(tmp_path / "missing") == ()
