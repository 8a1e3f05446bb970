"""The navigation at the top of every page."""

import re

from playwright.sync_api import Page


def go_to(page: Page, group: str, title: str) -> None:
    """Choose a page from the menu, and wait until it is there."""
    page.get_by_test_id("stTopNavSection").filter(has_text=group).click()
    link = page.get_by_test_id("stTopNavDropdownLink")
    # In front of the title stands the name of its icon.
    link.filter(has_text=re.compile(f"{title}$")).click()
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
