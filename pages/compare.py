"""Compare: settings over several seeds, with tests of their differences."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.ui.compare.choice import draw_choice, draw_question, setting_labels
from attnlab.ui.compare.curves import draw_spread
from attnlab.ui.compare.differences import draw_differences, draw_gaps
from attnlab.ui.compare.maps import draw_maps
from attnlab.ui.compare.results import draw_export, draw_results
from attnlab.ui.compare.work import draw_start
from attnlab.ui.controls.form import draw_form, draw_form_problem
from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.shell import ensure_shell

ensure_shell()
with st.sidebar:
    form = draw_form()

draw_question("Compare", form)
if isinstance(form, OptionError):
    draw_form_problem(form)
    grid = base = None
else:
    grid, base = draw_choice(form), form
source = draw_start(grid, base)
rows = draw_results(source)
if any(row.finished for row in rows):
    labels = setting_labels(rows)
    fragment(draw_maps, key="compare_maps")(rows, labels)
    fragment(draw_differences, key="compare_differences")(rows, labels)
    draw_spread(rows)
    draw_gaps(rows, labels)
draw_export(grid, rows)
draw_in_code(
    "from attnlab import Experiment\n"
    "from attnlab.comparisons.grid import Grid, study_of\n"
    "from attnlab.comparisons.many import run_all\n"
    "from attnlab.comparisons.records import to_csv\n"
    "from attnlab.comparisons.summary import summarise\n\n"
    "grid = Grid((('model', ('linear', 'attention')), ('length', ('5', '10'))), seeds=3,\n"
    "            base=Experiment())\n"
    "study = study_of(grid)\n"
    "print(to_csv(summarise(run_all(study.runs), study.settings)))",
    lead="This script runs a comparison; `python -m attnlab compare --help` explains the command "
    "for it:",
)
