"""All tests. While they run, shapes and types of every call of attnlab are checked."""

import random

# Beartype picks the items that it checks by the numbers of Python's own generator. In a thread that
# an earlier test has left behind it would draw them while Hypothesis watches that generator, and
# the test at hand would be blamed. So it gets a generator of its own while it is imported.
_SHARED = random.getrandbits
random.getrandbits = random.Random().getrandbits
try:
    from beartype import BeartypeConf, beartype
finally:
    random.getrandbits = _SHARED

# Where a float is expected a whole number will do, as PEP 484 has it.
typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
