"""Train the finished run that is on the screen before anything was trained.

    python tools/example.py

To be run again when the default experiment changes. Tests say so.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attnlab.training.experiment import Experiment
from attnlab.ui.train.example import EXAMPLE_FILE, make_example, write_example

if __name__ == "__main__":
    write_example(make_example(Experiment()), EXAMPLE_FILE)
    print(EXAMPLE_FILE)
