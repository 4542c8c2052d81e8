"""Requests of MCP servers in front of the user: asked one at a time, answered by the protocol."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.frontend.link_target import LinkRefusal, read_link
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.frontend.server_requests import (
    RequestAnswer,
    RequestQuestion,
    address_question,
    answer_question,
    form_question,
    sampling_question,
    sign_in_question,
    values_question,
)
from ollm_tui.frontend.session import ChatSession
from ollm_tui.mcp.requests import (
    Action,
    AddressRequest,
    ClientSide,
    FormRequest,
    SamplingAnswer,
    SamplingRequest,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tui.dialogs import ScreenApprover

if TYPE_CHECKING:
    from ollm_tui.protocol.forms import FormValues

_WAITING: Final = (
    "Waiting for the browser. If it runs on another machine, or cannot come back: type /mcp login "
    "{} once more and paste the address where it ends, which begins with http://127.0.0.1."
)
_ACTIONS: "dict[RequestAnswer, Action]" = {"yes": "accept", "no": "decline", "closed": "cancel"}


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Shows where the user signs in to a server, and opens it after a yes."""

    server: str
    approver: ScreenApprover
    opener: SystemOpener
    say: Callable[[str, Literal["info", "warning"]], None]

    async def show(self, address: str, _take: Callable[[str], bool]) -> None:
        """Ask whether to open the address; it is shown in the chat, too."""
        target, server = read_link(address), clean_name(self.server)
        if isinstance(target, LinkRefusal):
            self.say(
                f"The address of the sign-in to {server} is unusable. {target.reason}", "warning"
            )
            return
        async with self.approver.turn():
            answer = await self.approver.decide(sign_in_question(self.server, target))
        problem = await self.opener.open(target.address) if answer == "yes" else None
        if problem is not None:
            self.say(problem, "warning")
        self.say(f"To sign in to {server}, open {target.address}", "info")
        self.say(_WAITING.format(server), "info")


@dataclass(frozen=True, slots=True)
class ServerQuestions:
    """Answers servers with what the user allows; see `mcp/requests.py: Answerer`."""

    session: ChatSession
    client: ClientSide
    approver: ScreenApprover
    opener: SystemOpener
    say: Callable[[str, Literal["info", "warning"]], None]

    async def sample(self, request: SamplingRequest) -> SamplingAnswer | None:
        """Ask about the request, have the chat's model answer, and ask about the answer."""
        model, complete = self.session.model, self.client.complete
        if model is None or complete is None:
            raise AIError(ErrorCode.BAD_REQUEST, "No model is selected in the chat.")
        if await self._ask(sampling_question(request, model)) != "yes":
            return None
        server = clean_name(request.server)
        self.say(f"The model answers a request of the MCP server {server}.", "info")
        try:
            answer = await complete(model, request)
        except AIError as error:
            self.say(f"The MCP server {server} got no answer: {clean_line(str(error))}", "warning")
            # What the error says of the model and its address is not for the server.
            raise AIError(error.code, "The model could not answer.") from error
        return answer if await self._ask(answer_question(request, answer)) == "yes" else None

    async def fill(self, request: FormRequest) -> "tuple[Action, FormValues]":
        """Ask whether to answer, then for each field, then whether the values are sent."""
        async with self.approver.turn():
            answer = await self.approver.decide(form_question(request))
            if answer != "yes":
                return _ACTIONS[answer], {}
            title = f"For the MCP server {clean_name(request.server)}"
            # Loaded only for a form.
            from ollm_tui.tui.dialogs import ScreenForms

            values = await ScreenForms(self.approver.show).ask(title, request.fields)
            if values is None:
                return "cancel", {}
            answer = await self.approver.decide(values_question(request, values))
            return _ACTIONS[answer], values if answer == "yes" else {}

    async def open_page(self, request: AddressRequest) -> Action:
        """Show where an address leads, and open it after a yes."""
        target, server = read_link(request.url), clean_name(request.server)
        if isinstance(target, LinkRefusal) or target.scheme not in {"http", "https"}:
            why = target.reason if isinstance(target, LinkRefusal) else "It is no web page."
            self.say(f"The MCP server {server} wanted a page opened. {why}", "warning")
            return "decline"
        answer = await self._ask(address_question(request, target))
        if answer == "yes" and (problem := await self.opener.open(target.address)) is not None:
            self.say(f"{problem} The address is {clean_name(target.address)}", "warning")
        return _ACTIONS[answer]

    async def _ask(self, question: RequestQuestion) -> "RequestAnswer":
        async with self.approver.turn():
            return await self.approver.decide(question)
