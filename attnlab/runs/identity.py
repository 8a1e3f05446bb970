"""What a run is known by: its settings without the seed, as a hash, and its seed."""

import dataclasses
import hashlib
import json
from typing import NamedTuple

from attnlab.configuration.options import default_of
from attnlab.training.experiment import Experiment, to_json


class Identity(NamedTuple):
    """Equal for two experiments that are the same run, whenever and wherever they are made."""

    settings: str
    seed: int


def identity_of(experiment: Experiment) -> Identity:
    """The SHA-256 of the settings, in hexadecimal digits, and the seed.

    >>> one, other = identity_of(Experiment(seed=1)), identity_of(Experiment(seed=2))
    >>> one.settings == other.settings, one.seed, other.seed
    (True, 1, 2)
    """
    plain = dataclasses.replace(experiment, seed=default_of(Experiment, "seed"))
    text = json.dumps(json.loads(to_json(plain)), sort_keys=True, ensure_ascii=False)
    return Identity(hashlib.sha256(text.encode()).hexdigest(), experiment.seed)
