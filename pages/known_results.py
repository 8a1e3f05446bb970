"""Known results: published claims, and whether runs of attnlab agree with them."""

import streamlit as st

from attnlab.known_results import KNOWN_RESULTS
from attnlab.ui.compare.known_results import draw_gallery, draw_overview
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Known results", anchor=False)
st.markdown(
    "Each card is a published claim about small models, with runs of attnlab that check it. "
    "Dots are runs with different seeds, a grey band is a claimed range, and ◇ is a published "
    "number."
)
draw_overview(KNOWN_RESULTS.values())
draw_gallery([*KNOWN_RESULTS.values()])
draw_in_code(
    "from attnlab.comparisons.many import run_all\n"
    "from attnlab.known_results import KNOWN_RESULTS\n\n"
    'known = KNOWN_RESULTS["belief-mess3"]\n'
    "results = run_all(known.runs(seeds=2), **known.recording)\n"
    "for verdict in known.verdicts(known.numbers_of(results)):\n"
    "    print(verdict.check.claim, verdict.numbers, verdict.says)",
    lead="This script trains the runs of one result with two seeds. "
    "`python -m attnlab reproduce belief-mess3` does so from the command line; with `--shipped` it "
    "only prints the results above.",
)
