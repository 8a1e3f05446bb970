"""Typing into the cells of an editable table, which is one canvas."""

from playwright.sync_api import Page, expect

ROW = 35
EDITOR = "#portal textarea, #portal input"
_HANDED_ON = 250


def type_cell(page: Page, table: str, x: float, row: int, text: str) -> None:
    """Put text into the cell of the row, from 0, that lies `x` pixels from the left.

    Letters typed before the cell's editor is open would be lost: it is opened first.
    """
    canvas = page.locator(f".st-key-{table}_grid canvas").first
    canvas.scroll_into_view_if_needed()
    place = canvas.bounding_box()
    page.mouse.dblclick(place["x"] + x, place["y"] + (row + 1.5) * ROW)
    finish_cell(page, text)


def finish_cell(page: Page, text: str) -> None:
    """Replace what the open editor of a cell holds, and leave it with Enter."""
    editor = page.locator(EDITOR)
    editor.fill(text)
    expect(editor).to_have_value(text)
    # Enter takes what the editor held a few frames ago; no person is that quick.
    page.wait_for_timeout(_HANDED_ON)
    editor.press("Enter")
    expect(editor).to_have_count(0)
