"""How programs are compiled."""

from types import MappingProxyType

# For programs that run once and are over in milliseconds. At this level LLVM takes half the time,
# and drawn tokens and weights have the same bits; sums may be rounded otherwise, so that a program
# that trains or tests is none of these.
QUICKLY = MappingProxyType({"xla_backend_optimization_level": 1})
