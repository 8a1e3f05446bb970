"""What charts need to know of the page they stand on, and the switch of their type.

Streamlit draws a page in other colours as soon as the visitor or the system asks for them, but does
not tell the script, whose charts have colours of their own. So the browser writes the colour of the
ground into a field that nobody sees, which has the page drawn anew.
"""

import streamlit as st

CHART_HEIGHT = 350
# With these heights the Train page fits a screen of 1280 × 720, with cells of 24 pixels for three
# heads on ten days.
LOSS_HEIGHT, INSIDE_HEIGHT = 128, 330


def on_dark() -> bool:
    """Whether the page's ground is dark."""
    return st.context.theme.type == "dark"


_SCRIPT = """<script>
(() => {
    if (window.attnlabWatchesGround) return
    window.attnlabWatchesGround = true
    // React keeps its own setter on the element; the prototype's makes it see the change.
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
    const app = document.querySelector('[data-testid=stApp]')
    let before = getComputedStyle(app).backgroundColor
    new MutationObserver(() => {
        const now = getComputedStyle(app).backgroundColor
        const field = document.querySelector('.st-key-ground input')
        if (now === before || !field) return
        before = now
        set.call(field, now)
        field.dispatchEvent(new Event('input', {bubbles: true}))
        setTimeout(() => field.dispatchEvent(new FocusEvent('focusout', {bubbles: true})))
    }).observe(app, {attributeFilter: ['class']})
})()
</script>"""


def draw_ground_watch() -> None:
    """What has the page drawn anew on ground of another colour. Once on every page."""
    with st.container(key="unseen_ground"):
        st.text_input("ground", key="ground", max_chars=50)
        st.html(_SCRIPT, unsafe_allow_javascript=True)


_LARGE_TYPE = "large_type"


def has_large_type() -> bool:
    """Whether the charts are to be read from the back of a room."""
    return st.session_state.get(_LARGE_TYPE, False)


def draw_type_switch() -> None:
    """The switch at the foot of every page."""
    st.toggle(
        "Large type in charts",
        key=_LARGE_TYPE,
        persist_state="session",
        help="For a projector. The rest of the page grows with the browser's zoom.",
    )
