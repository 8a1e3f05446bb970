"""The app with a line in the server's log for every run of a page's script."""

if __name__ == "__main__":
    import sys
    import time

    from attnlab.ui.shell import run_shell

    began = time.perf_counter()
    try:
        run_shell()
    finally:
        # What stops or reruns a script is raised through here as well.
        sys.stderr.write(f"page script {time.perf_counter() - began:.4f} s\n")
else:
    import streamlit as st

    from app import tell_calmly, with_engine

    app = st.App(__file__, lifespan=with_engine, on_script_error=tell_calmly)
