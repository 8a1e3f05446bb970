"""What the server does when it starts, before anybody has asked for a page."""

from attnlab.experiment import Experiment
from attnlab.ui.bench import shared_programs
from attnlab.ui.compile_cache import switch_on_cache
from attnlab.ui.example import read_example


def warm_up() -> None:
    """Import the engine, and begin to compile the experiment that everybody meets first."""
    switch_on_cache()
    shared_programs().want(Experiment())
    read_example()
