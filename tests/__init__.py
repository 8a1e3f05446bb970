"""All tests. While they run, shapes and types of every call of attnlab are checked."""

import random
from pathlib import Path

from jaxtyping import install_import_hook

# Beartype picks the items that it checks by the numbers of Python's own generator. In a thread that
# an earlier test has left behind it would draw them while Hypothesis watches that generator, and
# the test at hand would be blamed. So it gets a generator of its own while it is imported.
_SHARED = random.getrandbits
random.getrandbits = random.Random().getrandbits
try:
    from beartype import BeartypeConf, BeartypeDecorPlace, beartype
    from beartype.claw import beartype_package
finally:
    random.getrandbits = _SHARED


class WrongTypeWarning(UserWarning):
    """A value of another type than is stated: an error in tests, as every warning is."""


# Where a float is expected a whole number will do, as PEP 484 has it.
typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check_calls() -> None:
    """Has every call of attnlab checked; before any of it is imported.

    Shapes take jaxtyping, which costs more than most calls: only modules that state some have it.
    """
    conf = BeartypeConf(
        is_pep484_tower=True,
        violation_type=WrongTypeWarning,
        # What is written is what is checked: a decorator may give a function other arguments.
        claw_decor_place_func=BeartypeDecorPlace.FIRST,
    )
    beartype_package("attnlab", conf=conf)
    install_import_hook(_modules_with_shapes(), "tests.typechecker")


def _modules_with_shapes() -> list[str]:
    root = Path(__file__).parents[1]
    return [
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in sorted((root / "attnlab").rglob("*.py"))
        if "jaxtyping" in path.read_text(encoding="utf-8")
    ]
