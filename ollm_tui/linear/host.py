"""What slash commands use of the chat in lines."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.attachments.attachment import attach_image
from ollm_tui.attachments.made import open_newest, save_made
from ollm_tui.chat.drawing import DrawingWish, newest_of
from ollm_tui.chat.making import Makes
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.commands.files import Snippets
from ollm_tui.commands.host import Attachments, Drawings, Forms, ModelActions, SpeechActions, View
from ollm_tui.commands.tool_host import PermissionList
from ollm_tui.config.paths import expanded
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.link_target import LinkRefusal, read_link
from ollm_tui.frontend.open_chat import OpenChatHost
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.frontend.sign_in import SignIns
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.model_actions import LinearModelActions
from ollm_tui.linear.questions import LinearForms
from ollm_tui.linear.views import Views
from ollm_tui.linear.work import Work
from ollm_tui.linear.writing import Writing
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.blocks import Content, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.runtime.media.task_models import maker_in_chat

if TYPE_CHECKING:
    from ollm_tui.commands.host import Severity
    from ollm_tui.mcp.server import McpServer

_TASKS: Final[dict[Makes, ModelTask]] = {"image": "picture", "video": "video", "audio": "music"}
_WORDS: Final[dict[Makes, str]] = {"image": "picture", "video": "video", "audio": "music"}


@dataclass(slots=True)
class LinearDrawings:
    """What `/image`, `/video` and `/music` do; see `commands/host.py: Drawings`."""

    chat: LinearChat
    begin: Callable[[Work], None]

    async def draw(self, content: Content, wish: DrawingWish, mask: str = "") -> None:
        """Have a model draw a prompt, with the pictures that are attached.

        Raises:
            AIError: no model draws, or the mask cannot be used.
        """
        session = self.chat.session
        if isinstance(content, str):
            content = self.chat.attachments.take(content)
        if mask:
            picture = (await attach_image(expanded(Path(mask)))).content
            content, wish = (*normalize_content(content), picture), replace(wish, has_mask=True)
        model = await maker_in_chat(
            _TASKS[wish.makes], session.runtime, wish.model or None, session.model
        )
        wished, client = replace(wish, model=model), session.client
        self.begin(self.chat.answer(lambda signal: client.draw(content, wished, signal), model))

    async def save(self, name: str, makes: Makes = "image") -> None:
        """Write the newest picture, video or music to a file.

        Raises:
            AIError: there is none, or it cannot be written.
        """
        made = newest_of(self.chat.session.client.conversation.messages, makes)
        if made is None:
            raise AIError(ErrorCode.BAD_REQUEST, f"This chat has no {_WORDS[makes]} yet.")
        path = await save_made(made, name)
        self.chat.say(f"Saved {clean_name(str(path))}.")

    async def open_newest(self) -> None:
        """Open the newest picture, sound, video or document in the system's program for it.

        Raises:
            AIError: there is none, or it cannot be written for the program.
        """
        session = self.chat.session
        messages, folder = session.client.conversation.messages, session.runtime.paths.opened_dir
        problem = await open_newest(messages, folder, SystemOpener().open_file)
        self.chat.say(problem or "Handed to its program.")


@dataclass(frozen=True, slots=True)
class LinearLoop:
    """What `/continue` does; see `commands/tool_host.py: LoopControl`."""

    chat: LinearChat

    @property
    def can_go_on(self) -> bool:
        """Whether the newest answer ended at the limit of turns."""
        return self.chat.narrator.can_go_on

    def go_on(self, turns: int | None = None) -> None:
        """Let the model continue for some more turns, or for as many again."""
        self.chat.begun.append(self.chat.go_on(ChatOptions(max_turns=turns)))

    def wrap_up(self) -> None:
        """Have it answer now, without tools."""
        self.chat.begun.append(self.chat.go_on(ChatOptions(tools=(), wraps_up=True)))

    def give_up(self) -> None:
        """Leave the answer as it is."""
        self.chat.narrator.can_go_on = False
        self.chat.say("Stopped.")


@dataclass(slots=True)
class LinearSignIns(SignIns):
    """Says where the user signs in to a server, and takes one key or a pasted address."""

    chat: LinearChat
    opener: SystemOpener = field(default_factory=SystemOpener)

    def begin(self, server: "McpServer") -> None:
        """Have the user sign in to a server; Escape gives it up."""
        work = self.chat.work.until_stopped(
            lambda: self.run(server, partial(self.show, server.name), self.chat.say),
            lambda: "Waiting for the sign-in",
        )
        self.chat.begun.append(work)

    async def show(self, server: str, address: str, take: Callable[[str], bool]) -> None:
        """Say the address, and ask until the browser came back or the user gives it up."""
        target = read_link(address)
        if isinstance(target, LinkRefusal):
            self.chat.say(f"The address of the sign-in is unusable. {target.reason}", "warning")
            return
        shown = clean_name(server)
        self.chat.say(f"To sign in to {shown}, open this address in a browser: {target.address}")
        question = (
            f"Sign in at {target.hosts[0].ascii}. o opens it in the browser, p takes the address "
            "where a browser elsewhere ended, Escape gives it up:"
        )
        while True:
            key = await self.chat.questions.key(question, {"o": "open", "p": "paste"})
            if key is None:
                self.cancel(server)
                return
            if key == "open":
                problem = await self.opener.open(target.address)
                self.chat.say(problem or "Waiting for the browser.")
            elif typed := await self.chat.questions.line("Address: "):
                if take(typed):
                    return
                self.chat.say("This is not the address where the sign-in ended.")


@dataclass(slots=True)
class LinearHost(OpenChatHost):
    """The chat as the commands see it; see `CommandHost` for what its members do."""

    chat: LinearChat
    leave: Callable[[], None]
    copier: Callable[[str], None]
    """Sends a text to the clipboard."""
    model_actions: ModelActions = field(init=False)
    drawings: Drawings = field(init=False)
    voice: SpeechActions = field(init=False)
    snippets: Snippets = field(init=False)
    forms: Forms = field(init=False)
    views: Views = field(init=False)
    writing: Writing = field(init=False)

    def __post_init__(self) -> None:
        OpenChatHost.__post_init__(self)
        self.loop = LinearLoop(self.chat)
        self.writing = Writing(self.chat)
        self.sign_ins = LinearSignIns(self.chat)
        self.views = Views(self.chat, self.writing)
        self.model_actions = LinearModelActions(self.chat, self.chat.begun.append)
        self.drawings = LinearDrawings(self.chat, self.chat.begun.append)
        self.voice, self.snippets = self.chat.voice, self.writing.snippets
        self.forms = LinearForms(self.chat.questions, self.chat.say)

    def take_begun(self) -> Sequence[Work]:
        """Return what commands have begun, to be awaited."""
        begun = tuple(self.chat.begun)
        self.chat.begun.clear()
        return begun

    def say(self, text: str, kind: "Severity" = "info") -> None:
        """Write a note."""
        self.chat.say(text, kind)

    def show(self, view: View, text: str = "") -> None:
        """Read out a view."""
        self.chat.begun.append(self.views.show(view, text))

    async def new_chat(self) -> None:
        """Start an empty conversation."""
        self.chat.start_new()
        self.chat.say("New chat.")

    async def set_model(self, address: str) -> None:
        """Use another model from the next prompt on."""
        await self.chat.use_model(address)

    async def retry(self) -> None:
        """Send the newest question once more."""
        self.chat.begun.append(self.chat.retry())

    def copy(self, text: str) -> None:
        """Send a text to the clipboard of the terminal."""
        self.copier(text)

    def quit(self) -> None:
        """Leave the program, unless something would be lost that was never mentioned."""
        if self.chat.may_quit():
            self.leave()

    def find(self, text: str) -> None:
        """Search in the open chat."""
        self.chat.begun.append(self.chat.reading.find(text))

    def theme_names(self) -> Sequence[str]:
        """Return none: there are no colours here."""
        return ()

    def set_theme(self, name: str) -> None:
        """Say that there are no colours here."""
        self.show("themes")

    @property
    def permissions(self) -> PermissionList:
        """What tools may do without a question."""
        return self.chat.approver.permissions

    def attachments(self) -> Attachments:
        """Return what is sent with the next message."""
        return self.chat.attachments
