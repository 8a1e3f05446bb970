"""The gallery of published results: claims, runs, and verdicts."""

import streamlit as st

from attnlab import charts
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import present
from attnlab.known_results import AGREES, DISAGREES, KnownResult, Verdict, blog_post, overall
from attnlab.known_results.shipped import shipped_numbers
from attnlab.ui.controls.link_bar import draw_train_menu
from attnlab.ui.core.display import QUESTION_PAGE
from attnlab.ui.core.page_charts import draw_chart

_VERDICTS = {
    AGREES: "The runs here agree.",
    DISAGREES: "The runs here disagree.",
}
_UNDECIDED = "The runs here cannot decide."


def draw_known_result(known: KnownResult) -> None:
    """Draw a published result: its claim, the verdict, and one picture for each part of it."""
    made, numbers = shipped_numbers(known)
    verdicts = known.verdicts(numbers)
    with st.container(border=True, key=f"known_{known.name}"):
        st.header(known.title, anchor=known.name)
        says = _VERDICTS.get(overall(verdicts), _UNDECIDED)
        st.markdown(f"{known.claim} **{says}**")
        for verdict in verdicts:
            _draw_verdict(known, verdict)
        if known.differs:
            st.caption(known.differs)
        st.caption(
            f"Published in {known.source}. {known.seeds} seeds from {known.first_seed}"
            f"{_tuned(known)}; made {made}."
        )
        with st.container(horizontal=True):
            draw_train_menu(dict(known.settings), f"known_{known.name}_train")
            if known is blog_post.RESULT:
                st.page_link(QUESTION_PAGE, label="All its results", icon=":material/help_center:")
        st.caption(
            f"`attnlab reproduce {known.name}` trains all runs again, in about {known.minutes:g} "
            "minutes on two cores."
        )


def _tuned(known: KnownResult) -> str:
    if not known.tuned_on:
        return ""
    return f"; the settings were chosen with seeds {known.tuned_on[0]} to {known.tuned_on[-1]}"


def _draw_verdict(known: KnownResult, verdict: Verdict) -> None:
    check, share = verdict.check, present(verdict.share)
    low, high = (100 * end for end in share.ends)
    published = "" if check.published is None else f" Published: {check.published:g}."
    left, right = st.columns([2, 3], vertical_alignment="center")
    with left:
        st.markdown(f"{check.claim} **{verdict.says.capitalize()}.**")
        st.caption(
            f"Mean {present(verdict.mean).mean:.3f}.{published} {verdict.within} of "
            f"{len(verdict.numbers)} seeds lie in the claimed range (95 % interval of that share: "
            f"{show_range(low, high, places=0)} %)."
        )
    with right:
        draw_chart(
            charts.claim_chart(verdict),
            name=f"{known.title}: {check.claim}",
            alt=f"{charts.claim_title(check)} of each seed: "
            + ", ".join(f"{number:.3f}" for number in verdict.numbers.values()),
        )
