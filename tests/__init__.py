"""All tests. While they run, shapes and types of every call of attnlab are checked."""

from beartype import BeartypeConf, beartype

# Where a float is expected a whole number will do, as PEP 484 has it.
typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
