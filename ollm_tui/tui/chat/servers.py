"""MCP servers in the open chat: their prompts as commands, their resources, and their start."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.registry import Command
from ollm_tui.commands.server_prompts import CommandList
from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.server_news import ServerNews
from ollm_tui.frontend.server_offers import ServerOffers
from ollm_tui.frontend.session import ChatSession
from ollm_tui.frontend.sign_in import SignIns
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.services import Say, Services

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer
    from ollm_tui.runtime.compose import Runtime


@dataclass(slots=True)
class ChatServers:
    """What the screen uses of the servers of the settings."""

    runtime: "Runtime"
    offers: ServerOffers = field(init=False)
    """Resources by name."""

    def __post_init__(self) -> None:
        self.offers = ServerOffers(self.listed)

    def listed(self) -> "Mapping[str, McpServer]":
        """Return the servers, running or not."""
        return self.runtime.mcp.all if self.runtime.mcp is not None else {}

    def commands(self, more: Sequence[Command]) -> Sequence[Command]:
        """Return the commands of the program, of packages, and of the servers that run."""
        return CommandList((*COMMANDS, *more), self.listed)

    def start(
        self, session: ChatSession, services: Services, say: Say, show_tools: Callable[[], None]
    ) -> None:
        """Start the servers in the background; what they ask for is asked here."""
        if self.runtime.mcp is not None:
            # Needed only where the settings name a server.
            from ollm_tui.tui.chat.server_questions import ServerQuestions

            client = self.runtime.mcp.client
            client.answerer = ServerQuestions(
                session, client, services.approver, services.opener, say
            )
        ServerNews(self.runtime.mcp, say, show_tools).start()


@dataclass(slots=True)
class ScreenSignIns(SignIns):
    """Sign-ins in the background of the screen."""

    dialogs: Dialogs
    services: Services
    say: Say

    def begin(self, server: "McpServer") -> None:
        """Have the user sign in to a server."""
        # Needed only for servers.
        from ollm_tui.tui.chat.server_questions import SignInPage

        services = self.services
        page = SignInPage(server.name, services.approver, services.opener, self.say)
        self.dialogs.run(self.run(server, page.show, self.say), f"sign-in {server.name}")
