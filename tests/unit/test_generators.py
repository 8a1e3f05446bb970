"""Every generator knows its own probabilities, and draws from them."""

import pytest

from attnlab.generators import GENERATORS, OwnSequences
from attnlab.testing import check_process
from tests.unit.process_cases import CASES

LENGTH = 5
# Where every case compiles its own programs, the first of each generator stands for all.
FIRST = {type(case.generator): name for name, case in reversed(CASES.items())}.values()


def test_every_registered_generator_has_a_case():
    have_laws = {kind for kind in GENERATORS.values() if kind.has_law}
    assert {type(case.generator) for case in CASES.values()} == have_laws
    # Own sequences have tests of their own.
    assert {*GENERATORS.values()} - have_laws == {OwnSequences}


@pytest.mark.parametrize(
    "name",
    [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_a_process_holds_the_laws_and_agrees_with_enumeration(name):
    case = CASES[name]
    law, plain = case.joint, name in FIRST
    check_process(case.generator, length=LENGTH, joint=law, draws=case.draws, plain=plain)
