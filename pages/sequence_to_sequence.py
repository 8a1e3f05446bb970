"""A former address of Train."""

import runpy

from attnlab.ui.core.display import TRAIN_PAGE

runpy.run_path(str(TRAIN_PAGE))
