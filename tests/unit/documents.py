"""The Python code of the documents, run as it is written."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
GUIDE = ROOT / "docs/extending.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_code(document, *, examples=True):
    """What the Python blocks of a document define, run one after another as a reader would.

    Without `examples`, blocks that show what calls return are left out.
    """
    text, scope = document.read_text(encoding="utf-8"), {"__name__": document.stem}
    for number, found in enumerate(_BLOCK.finditer(text), start=1):
        title = f"{document.name}, Python block {number}"
        if ">>> " not in found[1]:
            exec(compile(found[1], title, "exec"), scope)
            continue
        if not examples:
            continue
        line, report = text.count("\n", 0, found.start(1)), []
        # An example begins with a copy of the names and leaves its own behind.
        example = doctest.DocTestParser().get_doctest(found[1], scope, title, str(document), line)
        doctest.DocTestRunner(verbose=False).run(example, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        scope = example.globs
    return scope


def guide_classes():
    """The classes that the guide to extending defines, by name."""
    return run_code(GUIDE, examples=False)
