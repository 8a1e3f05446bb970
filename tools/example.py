"""Train the finished run that is on the screen before anything was trained, and take its picture.

    python tools/example.py [--picture]

To be run again when the default experiment changes; with `--picture`, which trains nothing, when
its chart does. Tests say so.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attnlab.experiment import Experiment
from attnlab.ui.example import EXAMPLE_FILE, make_example, picture_of, read_example, write_example
from first_paint.picture import PICTURE_FILE

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--picture", action="store_true", help="take the picture anew, no more")
    if not parser.parse_args().picture:
        write_example(make_example(Experiment()), EXAMPLE_FILE)
    picture = json.dumps(picture_of(read_example()), ensure_ascii=False, indent=1)
    PICTURE_FILE.write_text(picture + "\n", encoding="utf-8")
    print(EXAMPLE_FILE, PICTURE_FILE, sep="\n")
