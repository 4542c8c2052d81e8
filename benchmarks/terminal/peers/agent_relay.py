"""An agent of the Agent Client Protocol that relays the server: `agent_relay.py URL`.

Some terminal programs talk to an agent's process (JSON lines on its standard streams) instead of a
model server.
"""

import http.client
import json
import socket
import sys
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

ABILITIES = {
    "loadSession": False,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
}


class Relay:
    """Relays one prompt at a time."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self._writing = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def take(self, message: Mapping[str, Any]) -> None:
        """Do what a message asks for."""
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                capabilities = {
                    "protocolVersion": 1,
                    "authMethods": [],
                    "agentCapabilities": ABILITIES,
                }
                self._send(id=message["id"], result=capabilities)
            case "session/new":
                self._send(id=message["id"], result={"sessionId": "s1"})
            case "session/prompt":
                text = " ".join(block.get("text", "") for block in params["prompt"])
                work = (message["id"], params["sessionId"], text)
                threading.Thread(target=self._answer, args=work, daemon=True).start()
            case "session/cancel":
                if self._connection is not None and self._connection.sock is not None:
                    self._connection.sock.shutdown(socket.SHUT_RDWR)
            case str() if "id" in message:
                self._send(id=message["id"], result={})

    def _answer(self, number: object, session: object, text: str) -> None:
        host = self._server.hostname or "127.0.0.1"
        connection = self._connection = http.client.HTTPConnection(host, self._server.port)
        question = {"messages": [{"role": "user", "content": text}]}
        reason = "end_turn"
        try:
            connection.request("POST", "/api/chat", json.dumps(question))
            for line in connection.getresponse():
                self._say(session, json.loads(line)["message"]["content"])
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            reason = "cancelled"
        self._send(id=number, result={"stopReason": reason})

    def _say(self, session: object, text: str) -> None:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        self._send(method="session/update", params={"sessionId": session, "update": update})

    def _send(self, **message: object) -> None:
        with self._writing:
            print(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    relay = Relay(sys.argv[1])
    for line in sys.stdin:
        relay.take(json.loads(line))
