"""The Train page as a person uses it, named by the keys of its parts; tables and the menu."""

import re
from contextlib import suppress
from typing import NamedTuple

from playwright.sync_api import Error, Locator, Page, TimeoutError, expect

STATES = ("idle", "waiting", "compiling", "running", "paused", "done", "failed")
# States in which the page is drawn again and again.
_ACTIVE = frozenset({"waiting", "compiling", "running"})
# Seconds that a cold compilation may take while the machine is busy with something else.
_PATIENCE = 180
_LONG = 100_000
# The address of an experiment that is done at once, unlike the one that the page opens on.
QUICK = "/?v=2"
# Pixels of a row of a table, which is one canvas, and the editor of a cell.
ROW = 35
EDITOR = "#portal textarea, #portal input"
_HANDED_ON = 250
_TRIES = 5
_TRY_PATIENCE = 3_000


class Status(NamedTuple):
    """What the status line says."""

    state: str
    step: int
    steps: int


class TrainPage:
    """The Train page in one browser tab."""

    def __init__(self, page: Page):
        self.page = page

    def part(self, key: str) -> Locator:
        """The part of the page that has the key."""
        return self.page.locator(f".st-key-{key}")

    def button(self, name: str) -> Locator:
        """One of the buttons start, pause, step, reset and new_seed."""
        return self.part(f"run_{name}").get_by_role("button")

    def press(self, name: str) -> None:
        """Click a button as soon as it is there and enabled."""
        self.button(name).click()

    def field(self, key: str) -> Locator:
        """The element of a control that takes the typing; opens the panel that it is in."""
        field = self.part(key).locator("input, textarea").first
        # For a moment it may be gone, while another choice redraws the form.
        if not field.evaluate("node => node.closest('details')?.open ?? true"):
            panel = self.page.locator("details").filter(has=self.part(key))
            panel.locator("summary").first.click()
            expect(panel).to_have_attribute("open", "")
            # It draws its controls once more, as a person sees before typing.
            self.settle()
        return field

    def fill(self, key: str, value: object) -> None:
        """Type into a control and leave it."""
        field = self.field(key)
        field.fill(str(value))
        field.blur()

    def choose(self, key: str, option: str) -> None:
        """Choose from a menu."""
        field = self.field(key)
        choice = self.page.get_by_role("option", name=option, exact=True)
        # Scrolling and drawing close an open menu, so that on a slow machine it may be gone.
        for _ in range(_TRIES):
            # A key scrolls to its field only where that has no focus yet, and a menu that opens
            # out of sight stays there.
            field.scroll_into_view_if_needed()
            field.press("ArrowDown")
            with suppress(Error):
                self.page.get_by_role("option").first.wait_for(timeout=_TRY_PATIENCE)
                # Of a long menu only the options that are in sight are there.
                if not choice.count():
                    field.fill(option)
                choice.click(timeout=_TRY_PATIENCE)
                break
        expect(field).to_have_value(option)

    def choose_chip(self, key: str, name: str) -> None:
        """Press one of a row of chips, once the page is drawn: a click during that can be lost."""
        self.settle()
        self.part(key).locator("button").filter(has_text=re.compile(f"^{name}$")).click()

    def choose_sequence(self, number: int) -> None:
        """Show the patterns of one of the probe sequences, by its number from 1."""
        field = self.field("probe")
        choice = self.page.get_by_role("option").filter(has_text=re.compile(rf"^{number}: "))
        wait_for_late_results(self.page)
        # As in `choose`.
        for _ in range(_TRIES):
            field.scroll_into_view_if_needed()
            field.press("ArrowDown")
            with suppress(Error):
                choice.click(timeout=_TRY_PATIENCE)
                return
        expect(choice).to_be_visible()

    def slide(self, key: str, *keys: str) -> None:
        """Move a slider by keys of the keyboard, such as Home."""
        for name in keys:
            self.field(key).press(name)

    @property
    def film(self) -> Locator:
        """The film of the run: its sequence, heads, predictions and loss."""
        return self.part("picture").locator(".film")

    @property
    def maps(self) -> Locator:
        """The pictures of the heads in the film."""
        return self.film.locator(".maps canvas")

    def rewind(self, *keys: str) -> None:
        """Move the slider of the film by keys of the keyboard, such as Home."""
        for name in keys:
            self.film.get_by_role("slider").press(name)

    def open_panel(self, key: str) -> Locator:
        """Open an expander; what it holds."""
        self.part(key).locator("summary").click()
        return self.part(key).get_by_test_id("stExpanderDetails")

    def choose_run(self, row: int) -> None:
        """Choose one of the runs so far, whose panel is open, by its place from 0."""
        grid = self.part("runs").locator("canvas").first
        grid.scroll_into_view_if_needed()
        # The table is a picture; the boxes of its rows are below its head, at the left.
        box = grid.bounding_box()
        self.page.mouse.click(box["x"] + 16, box["y"] + (row + 1.5) * ROW)
        expect(self.part("run_actions")).to_be_visible()

    def status(self) -> Status:
        """State, step and the last step."""
        text = self.part("run_status").inner_text()
        state = re.search(rf"\b({'|'.join(STATES)})\b", text).group(1)
        step, steps = re.search(r"step ([\d,]+) of ([\d,]+)", text).groups()
        return Status(state, int(step.replace(",", "")), int(steps.replace(",", "")))

    def wait_for(self, *states: str) -> Status:
        """Wait until the run is in one of the states."""
        pattern = re.compile(rf"\b({'|'.join(states)})\b.*\bstep [\d,]+ of ", re.DOTALL)
        expect(self.part("run_status")).to_contain_text(pattern, timeout=_PATIENCE * 1000)
        if not _ACTIVE.intersection(states):
            self.settle()
        return self.status()

    def settle(self) -> None:
        """Wait until the page is drawn. While a run is active it never is."""
        app = self.page.get_by_test_id("stApp")
        expect(app).to_have_attribute("data-test-script-state", "notRunning")

    def wait_for_step(self, step: int) -> Status:
        """Wait until the run is at that step or beyond."""
        self.page.wait_for_function(
            """step => {
                const text = document.querySelector('.st-key-run_status')?.innerText ?? '';
                return Number((text.match(/step ([\\d,]+)/)?.[1] ?? '-1').replace(/,/g, '')) >= step
            }""",
            arg=step,
            timeout=_PATIENCE * 1000,
        )
        return self.status()

    def start_long_run(self, speed: str = "30 steps/s") -> Status:
        """Start a run that outlasts any test, slowly, and wait for its first steps."""
        # What is typed while results come late can be lost.
        wait_for_late_results(self.page)
        self.fill("steps", _LONG)
        self.choose("run_speed", speed)
        self.press("start")
        expect(self.part("run_status")).to_contain_text(f"of {_LONG:,}")
        self.wait_for("running")
        return self.wait_for_step(1)

    def finish_default_run(self) -> Status:
        """Start the run that the page offers, and wait for its end."""
        self.press("start")
        return self.wait_for("done")

    def message(self, text: str | re.Pattern) -> Locator:
        """A notice, a warning or an error with this text."""
        return self.page.get_by_test_id("stAlert").filter(has_text=text)

    def figure(self, name: str) -> str:
        """The value of one of the figures below the charts."""
        return self.metric(name).inner_text()

    def metric(self, name: str) -> Locator:
        """The element of that value, to wait for another one."""
        metric = self.part("figures").get_by_test_id("stMetric").filter(has_text=name)
        return metric.get_by_test_id("stMetricValue")


def go_to(page: Page, title: str) -> None:
    """Choose a page from the menu, and wait until it is there."""
    # In front of the title of a lesson stands the name of its icon.
    called = re.compile(f"{title}$")
    sections = page.get_by_test_id("stTopNavSection")
    sections.first.wait_for()
    link = page.get_by_test_id("stTopNavLink").filter(has_text=called)
    # Until its fonts are there, the menu may put what it takes for too wide below "more".
    for section in sections.all():
        if link.count():
            break
        section.click()
        link = page.get_by_test_id("stTopNavDropdownLink").filter(has_text=called)
    link.click()
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for()


def type_cell(page: Page, table: str, x: float, row: int, text: str) -> None:
    """Put text into the cell of the row, from 0, that lies `x` pixels from the left.

    Letters typed before the cell's editor is open would be lost: it is opened first.
    """
    canvas = page.locator(f".st-key-{table}_grid canvas").first
    editor = page.locator(EDITOR)
    for _ in range(_TRIES):
        canvas.scroll_into_view_if_needed()
        place = canvas.bounding_box()
        cell = place["x"] + x, place["y"] + (row + 1.5) * ROW
        # The table knows only some frames later where a scroll has put it.
        page.mouse.move(*cell)
        page.wait_for_timeout(_HANDED_ON)
        page.mouse.dblclick(*cell)
        # A chart that has just been drawn above moves the table away: a person clicks again.
        with suppress(TimeoutError):
            editor.wait_for(timeout=_TRY_PATIENCE)
            break
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


def wait_for_late_results(page: Page) -> None:
    """Wait until no part of the page was drawn for a second, as while results are missing."""
    page.evaluate("""() => new Promise(done => {
        let timer = setTimeout(done, 1000);
        const watch = new MutationObserver(() => {
            clearTimeout(timer);
            timer = setTimeout(() => { watch.disconnect(); done(); }, 1000);
        });
        watch.observe(document.querySelector('[data-testid=stApp]'),
                      {attributes: true, attributeFilter: ['data-test-script-state']});
    })""")


def wait_until_it_fits(page: Page) -> None:
    """Wait until neither the page nor the part of it that scrolls is wider than the window."""
    page.wait_for_function(
        """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
            .every(node => node.scrollWidth <= node.clientWidth)"""
    )
