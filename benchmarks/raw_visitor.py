"""A visitor without a browser, who speaks Streamlit's protocol: many fit on a small machine."""

from collections.abc import Mapping
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

_PATIENCE = 300.0


class RawVisitor:
    """One session of a server, from its first page until `leave`."""

    def __init__(self, url: str, page: str, query: Mapping[str, object]):
        address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        self._socket = connect(address, max_size=None, ping_timeout=_PATIENCE)
        self._query, self._page = urlencode(query), page
        self._script = ""
        # The widgets by the keys that the program gives them, and all text of the last script.
        self._widgets: dict[str, str] = {}
        self.text = ""
        self._ask(BackMsg())

    def press(self, key: str) -> None:
        """Press the button of that key, and wait for the page."""
        message = BackMsg()
        widget = message.rerun_script.widget_states.widgets.add()
        widget.id, widget.trigger_value = self._widgets[key], True
        self._ask(message)

    def look(self) -> None:
        """Have the page drawn again."""
        self._ask(BackMsg())

    def leave(self) -> None:
        """Close the tab."""
        self._socket.close()

    def _ask(self, message: BackMsg) -> None:
        rerun = message.rerun_script
        rerun.query_string = self._query
        if self._script:
            rerun.page_script_hash = self._script
        else:
            rerun.page_name = self._page
        self._socket.send(message.SerializeToString())
        parts = []
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(self._socket.recv(timeout=_PATIENCE))
            kind = answer.WhichOneof("type")
            if kind == "navigation":
                self._script = answer.navigation.page_script_hash
            elif kind == "delta":
                parts.append(str(answer.delta))
                self._note(answer.delta.new_element)
            elif kind == "script_finished" and answer.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            ):
                break
        self.text = "\n".join(parts)

    def _note(self, element) -> None:
        kind = element.WhichOneof("type")
        identity = getattr(getattr(element, kind), "id", "") if kind else ""
        # Such as $$ID-0123abcd-run_start.
        if isinstance(identity, str) and identity.startswith("$$ID-"):
            self._widgets[identity.split("-", 2)[2]] = identity
