"""Cards of a run, a comparison or a known result, as files to download."""

from collections.abc import Callable

import streamlit as st

from attnlab.configuration.options import present
from attnlab.live.live_run import LiveRun
from attnlab.result_card import ResultCard, card_of_run, card_to_json
from attnlab.result_card.picture import card_png, card_svg
from attnlab.runs.links import to_query
from attnlab.ui.core.display import draw_download
from attnlab.ui.core.web import page_address

_FORMS = {
    "PNG": ("image/png", card_png),
    "SVG": ("image/svg+xml", card_svg),
    "JSON": ("application/json", card_to_json),
}


def draw_card_files(make: Callable[[], ResultCard], name: str, key: str) -> None:
    """Draw the buttons of a card's files. The card is made when one of them is pressed."""
    with st.container(horizontal=True, gap="small"):
        for kind, (mime, write) in _FORMS.items():
            ending = kind.lower()
            draw_download(
                f"Card, {kind}",
                f"attnlab-card-{name}.{ending}",
                mime,
                lambda write=write: write(make()),
                key=f"{key}_card_{ending}",
            )
    st.caption(
        "The card is a slide with the result, its settings and its seeds. `attnlab check` trains "
        "the runs of its JSON file again and compares the numbers."
    )


def draw_card_of_run(run: LiveRun, key: str) -> None:
    """Draw the buttons of a run's card; nothing unless its settings alone repeat it."""
    snapshot, experiment = run.snapshot(), run.experiment
    if snapshot.state == "done" and not snapshot.history.changes:
        name = f"{experiment.generator.name}-{experiment.model.name}-seed{experiment.seed}"
        link = page_address("", to_query(experiment))
        draw_card_files(lambda: card_of_run(present(run.stored()), link=link), name, key)
