"""Typing into the cells of an editable table, which is one canvas."""

from playwright.sync_api import Page, expect

ROW = 35


def type_cell(page: Page, table: str, x: float, row: int, text: str) -> None:
    """Put text into the cell of the row, from 0, that lies `x` pixels from the left.

    Letters typed before the cell's editor is open would be lost: it is opened first.
    """
    canvas = page.locator(f".st-key-{table}_grid canvas").first
    canvas.scroll_into_view_if_needed()
    place = canvas.bounding_box()
    page.mouse.dblclick(place["x"] + x, place["y"] + (row + 1.5) * ROW)
    editor = page.locator("#portal textarea, #portal input")
    editor.fill(text)
    expect(editor).to_have_value(text)
    editor.press("Enter")
    expect(editor).to_have_count(0)
