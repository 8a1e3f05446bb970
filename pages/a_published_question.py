"""A former address of Known results."""

import runpy

from attnlab.ui.core.display import KNOWN_PAGE

runpy.run_path(str(KNOWN_PAGE))
