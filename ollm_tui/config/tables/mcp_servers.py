"""The table `[mcp_servers.NAME]`: a server of the Model Context Protocol, as other clients have it.

The keys `command`, `args`, `env`, `cwd`, `url` and `headers` mean what they mean below `mcpServers`
in the files of other clients.
"""

from typing import Annotated

from ollm_tui.config.values import FilePath, Headers, NoSwitch, Seconds, Text
from ollm_tui.dataclass import dataclass
from ollm_tui.sections.marks import Bounds
from ollm_tui.sections.section import Secret, Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOAuthSettings(Section):
    """How ollm signs in to a server whose authorization server takes no new clients by itself."""

    client_id: Text | None = setting(
        None,
        examples=["my-client"],
        description="Client id of ollm at its authorization server; if not set, ollm registers as "
        "a new client.",
    )
    client_secret: Secret | None = setting(
        None,
        examples=["${WORK_SECRET}"],
        description='Secret of that client, best as "${NAME}"; `ollm mcp login NAME '
        "--client-secret` keeps one with your keys.",
    )
    callback_port: Annotated[int, Bounds(ge=1, le=65_535), NoSwitch] | None = setting(
        None,
        examples=[8765],
        description="Port of the redirect address http://127.0.0.1:PORT/callback; if not set, a "
        "free one.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings(Section):
    """One server: a program of this machine, or an address."""

    command: Text | None = setting(
        None,
        examples=["uvx"],
        description="Program of the server, which communicates by standard input and output; not "
        "run by a shell.",
    )
    args: list[str] = setting(
        [], examples=[["mcp-server-time"]], description="Arguments of the program."
    )
    env: dict[str, Secret] = setting(
        {},
        examples=[{"API_KEY": "${WORK_KEY}"}],
        description="Variables of its environment in addition to PATH, HOME and the like; nothing "
        "else is passed on.",
    )
    cwd: FilePath | None = setting(
        None,
        examples=["~/notes"],
        description="Folder in which it runs; if not set, the folder in which the app starts.",
    )
    url: Text | None = setting(
        None,
        examples=["https://mcp.example.com/mcp"],
        is_shown=False,  # may hold a name and a password
        description="Address of a server that speaks streamable HTTP, instead of a program.",
    )
    headers: Headers = setting(
        {},
        examples=[{"Authorization": "Bearer ${WORK_KEY}"}],
        description="Extra headers of every request to that address.",
    )
    oauth: McpOAuthSettings = setting(
        McpOAuthSettings,
        examples=[{"client_id": "my-client", "callback_port": 8765}],
        description="Your own client for the sign-in at that address: `client_id`, "
        '`client_secret` (best as "${NAME}") and `callback_port`, of the redirect address '
        "http://127.0.0.1:PORT/callback. If not set, ollm registers as a new client.",
    )
    enabled: bool = setting(
        True, description="Whether the server is started and its tools are offered."
    )
    start_timeout_s: Seconds = setting(
        10, description="Seconds to wait for it to start and list its tools."
    )
    call_timeout_s: Annotated[Seconds, Bounds(le=3600)] = setting(
        60, description="Time limit for one call, in seconds."
    )

    roots: bool | None = setting(
        None,
        examples=[False],
        description="Whether it gets the path of the working folder; if not set, programs do, "
        "which can see it anyway, and addresses do not.",
    )
    sampling: bool = setting(
        False,
        description="Whether it may send requests to the model of the chat; you are asked about "
        "each request and each answer.",
    )
    elicitation: bool = setting(
        False,
        description="Whether it may ask you to fill in a form or to open a page.",
    )

    @property
    def is_complete(self) -> bool:
        """Whether it names one way to the server."""
        if self.url is None or self.command is not None:
            return self.command is not None and self.url is None
        return self.url.startswith(("http://", "https://"))
