"""The places that are broken on purpose are where the list says."""

import pytest

from tools import mutations
from tools.mutations import MUTATIONS, ROOT, Mutation, mutated


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.file)
def test_every_mutation_finds_its_place_once_and_is_one(mutation):
    text = (ROOT / "attnlab" / mutation.file).read_text(encoding="utf-8")
    assert mutated(mutation, text) != text
    assert all((ROOT / file).is_file() for file in mutations.test_files([mutation]))


@pytest.mark.parametrize("text", ["nothing", "x = 1 + 1"])
def test_a_place_that_is_not_found_once_is_refused(text):
    with pytest.raises(ValueError, match="not once"):
        mutated(Mutation("a.py", "1", "2", "a"), text)
