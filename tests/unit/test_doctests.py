"""The examples in docstrings and documents are true."""

import doctest
import importlib
import pkgutil
import re
from types import ModuleType

import pytest

import attnlab
import attnlab.public as public
from tests.unit.documents import DOCUMENTS, run_code


def modules():
    """All modules but the page parts, which only run inside a page, and the entry point."""
    for found in pkgutil.walk_packages(attnlab.__path__, "attnlab."):
        if found.name != "attnlab.__main__" and not found.name.startswith("attnlab.ui"):
            yield importlib.import_module(found.name)


EXAMPLES = {
    example.name: example
    for module in modules()
    for example in doctest.DocTestFinder(exclude_empty=True).find(module)
    if example.examples
}


def test_there_are_examples():
    assert {
        "attnlab.training.loop.train",
        "attnlab.generators.vocabulary.Vocabulary",
    } <= EXAMPLES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_true(name):
    report = []
    runner = doctest.DocTestRunner(verbose=False)
    result = runner.run(EXAMPLES[name], out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted > 0


def test_there_is_code_in_documents():
    names = {path.name for path in DOCUMENTS}
    assert {"README.md", "extending.md", "library.md", "many-runs.md"} <= names


def test_every_public_name_is_documented():
    pages = [path.read_text(encoding="utf-8") for path in DOCUMENTS if path.parent.name == "api"]
    found = re.findall(r"^::: attnlab\.(\S+)$", "\n".join(pages), re.MULTILINE)
    names = {name for name, value in vars(public).items() if not isinstance(value, ModuleType)}
    assert {name for name in names if not name.startswith("_")} <= set(found)


# One document has five scripts, each a minute on a busy machine.
@pytest.mark.timeout(900)
@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_code_of_a_document_runs(document, tmp_path, monkeypatch):
    # Scripts write files.
    monkeypatch.chdir(tmp_path)
    run_code(document)
