"""Page parts shared by all pages: the only folder of attnlab that imports Streamlit."""
