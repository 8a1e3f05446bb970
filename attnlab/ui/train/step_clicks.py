"""Every click on Step counts once, and so does its key, however fast they come.

Streamlit tells a script of a button whether it was pressed since the last one, not how often; and
the message of a timer may take a press along that is then sent again by itself. So the browser
counts: a click adds one to a field that nobody sees, of which the newest value arrives whatever
else was dropped or repeated on the way. A browser without the script presses the button itself.
"""

import streamlit as st

_FIELD, _COUNTED = "steps_asked", "steps_counted"
# No hand is faster within one request.
_MOST = 1_000
_SCRIPT = """<script>
(() => {
    if (window.attnlabCountsSteps) return
    window.attnlabCountsSteps = true
    // React keeps its own setter on the element; the prototype's makes it see the change.
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
    const count = event => {
        const field = document.querySelector('.st-key-steps_asked input')
        if (!field) return
        event.stopImmediatePropagation()
        event.preventDefault()
        set.call(field, String(Number(field.value) + 1))
        field.dispatchEvent(new Event('input', {bubbles: true}))
        setTimeout(() => field.dispatchEvent(new FocusEvent('focusout', {bubbles: true})))
    }
    const button = '.st-key-run_step button:not([disabled])'
    window.addEventListener('click', event => event.target.closest?.(button) && count(event), true)
    window.addEventListener('keydown', event => {
        const isCommand = event.ctrlKey || event.metaKey || event.altKey
        const isTyped = event.target.closest?.('input, select, textarea, [contenteditable=true]')
        // As Streamlit's shortcuts do, by the code of the key: in other alphabets, too.
        const isStep = event.keyCode === 78 && !event.shiftKey && !isCommand && !isTyped
        if (isStep && document.querySelector(button)) count(event)
    }, true)
})()
</script>"""


def new_steps() -> int:
    """How many clicks nobody has heard of yet."""
    now, before = _count(), st.session_state.get(_COUNTED, 0)
    st.session_state[_COUNTED] = now
    return min(_MOST, now - before if now >= before else now)


def draw_step_counter() -> None:
    """The field and what fills it. Once in every script that draws the button, below its row."""
    with st.container(key="unseen_steps"):
        st.text_input("steps asked for", key=_FIELD, max_chars=9)
        st.html(_SCRIPT, unsafe_allow_javascript=True)
    # Behind another page it begins anew.
    st.session_state[_COUNTED] = _count()


def _count() -> int:
    text = st.session_state.get(_FIELD, "")
    return int(text) if text.isdecimal() else 0
