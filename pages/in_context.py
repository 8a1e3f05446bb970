"""A former address of the tab “Which algorithm” of Look inside."""

import runpy

from attnlab.ui.core.display import LOOK_INSIDE_PAGE

runpy.run_path(str(LOOK_INSIDE_PAGE))
