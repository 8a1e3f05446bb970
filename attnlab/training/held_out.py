"""Which sequences are held out for the test, and which of the test a model has been trained on."""

from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Int

SPLITS = MappingProxyType(
    {
        "independent": "training and test sequences are independent draws and may coincide",
        "held out": "a fifth of all visible sequences is used for the test only; floor and ceiling "
        "remain those of all sequences",
    }
)
# One sequence in five is held out.
_ONE_IN = 5


def is_held_out(
    sequences: Int[np.ndarray, "some positions"], seed: int
) -> Bool[np.ndarray, " some"]:
    """Return which sequences are for the test, by a hash of their visible tokens and the seed.

    The last token, which is predicted, has no part in it: its distribution after the others is
    the same on both sides.
    """
    code = np.full(len(sequences), seed + 1, np.uint64)
    for tokens in sequences[:, :-1].T:
        # The constants and shifts of splitmix64 (Steele, Lea and Flood 2014).
        code = (code + tokens.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        code ^= code >> np.uint64(31)
    return code % np.uint64(_ONE_IN) == 0


def share_also_in(
    test: Int[np.ndarray, "test positions"], train_set: Int[np.ndarray, "size positions"]
) -> float:
    """Return the share of test sequences that are, token by token, in the training set too."""
    known = {row.tobytes() for row in train_set}
    return sum(row.tobytes() in known for row in test) / len(test)
