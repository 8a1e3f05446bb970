"""Library: the saved runs."""

import streamlit as st

from attnlab.runs.library import Query
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.core.session_library import session_library, session_run
from attnlab.ui.library.selection import (
    draw_actions,
    draw_bin_actions,
    draw_comparison,
    draw_details,
    draw_undo,
    follow_opening,
)
from attnlab.ui.library.table import (
    ROWS_ON_PAGE,
    draw_filters,
    draw_nothing,
    draw_page_choice,
    draw_table,
    selected_entries,
)
from attnlab.ui.library.transfer import (
    draw_damaged,
    draw_place,
    draw_save_problem,
    draw_transfer,
    follow_upload,
    library_errors_shown,
)
from attnlab.ui.shell import ensure_shell

ensure_shell()
follow_opening()
run, place = session_run(), session_library()
library = place.library

st.title("Library", anchor=False)
with library_errors_shown():
    follow_upload(library)
    draw_save_problem(place)
    is_empty = not library.count() + library.count(Query(deleted=True))
    query = Query() if is_empty else draw_filters(library.choices())
    count = library.count(query)
    pages = -(-count // ROWS_ON_PAGE)
    first = ROWS_ON_PAGE * draw_page_choice(pages)
    entries = library.entries(query, first=first, most=ROWS_ON_PAGE)
    draw_undo(library)
    chosen = selected_entries(library, in_bin=query.deleted)
    if query.deleted:
        draw_bin_actions(library, chosen)
    elif entries:
        draw_actions(run, library, chosen)
    if entries:
        draw_table(entries, first=first, count=count)
    else:
        draw_nothing(library, in_bin=query.deleted)
    if len(chosen) == 1 and not query.deleted:
        draw_details(library, chosen[0])
    elif chosen and not query.deleted:
        draw_comparison(chosen)
    draw_transfer(library, query, tuple(entry.number for entry in chosen))
    draw_damaged(library)
    draw_place(place)
draw_in_code(
    "from attnlab.runs.library import Query, default_library\n\n"
    "library = default_library()\n"
    'for entry in library.entries(Query(generator="recall", sort="loss", descending=False)):\n'
    "    print(entry.number, entry.evaluation)\n"
    "    run = library.run_of(entry.number)  # its model, which can be continued"
)
