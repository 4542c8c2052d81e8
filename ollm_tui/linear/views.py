"""What is a dialog or a screen elsewhere, here as lines and numbered choices."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, get_args

from ollm_tui.chat.prompt import is_question
from ollm_tui.commands.host import View
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.compaction import can_compact
from ollm_tui.frontend.link_target import LinkRefusal, read_link
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.frontend.web_results import links_of_turn
from ollm_tui.linear.answer_text import links_of
from ollm_tui.linear.branches import Branches
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.compacting import Compacting
from ollm_tui.linear.downloads import Downloads
from ollm_tui.linear.model_actions import LinearModelActions, model_row
from ollm_tui.linear.saved_chats import SavedChats
from ollm_tui.linear.settings import SettingsView
from ollm_tui.linear.writing import Writing
from ollm_tui.models.actions import ModelAction
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tokens.limits import ContextRemedy, DropAttachments, LeaveOutTurns, RaiseWindow

_NEXT_DOOR: Final[dict[View, str]] = {
    "stats": "There is no line of figures here. /state says how full the window is.",
    "queue": "What waits cannot be changed here. Escape stops the answer, and the Up key brings "
    "back what was queued.",
    "focus": "/read reads one message alone.",
    "themes": "There are no colours here, so there is no theme to choose. In a shell: "
    "ollm --theme NAME opens the full screen with one.",
}
"""Views that are no lines, and where the same can be done."""
_SUMMARISE: Final = "Summarise the older messages"
_MODEL_ACTIONS: Final[tuple[tuple[str, ModelAction], ...]] = (
    ("Load into memory", "load"),
    ("Unload from memory", "unload"),
    ("Delete", "delete"),
)


class Views:
    """Reads out each view, and does what is chosen there."""

    def __init__(
        self, chat: LinearChat, writing: Writing, opener: SystemOpener | None = None
    ) -> None:
        self._chat, self._writing = chat, writing
        self.opener = opener or SystemOpener()
        saved, reading = SavedChats(chat), chat.reading
        branches, self.downloads = Branches(chat, saved), Downloads(chat)
        self._compacting = Compacting(chat, writing)
        self.show_help: Callable[[], None] = lambda: None
        """Lists the commands."""
        self._views: dict[View, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "palette": self._help,
            "models": self._models,
            "manager": self._manager,
            "settings": self._settings,
            "profiles": self._profiles,
            "chats": saved.list,
            "search": saved.search,
            "context": self._context,
            "compact": self._compacting.start,
            "prompt": self._prompt,
            "links": self._links,
            "branch": branches.next,
            "tree": branches.tree,
            "fork": branches.fork,
            "undelete": branches.undelete,
            "rename": self._rename,
            "private": self._private,
            "edit": self._edit,
            "go": reading.go,
            "marks": reading.list_marks,
            "times": reading.switch_times,
            "editor": writing.edit,
            "find_models": self.downloads.show,
        }

    async def show(self, view: View, text: str = "") -> None:
        """Read out a view; an error becomes a line."""
        if (read := self._views.get(view)) is not None:
            await report_errors(read(text), self._chat.say)
        else:
            sentence = f"{view.capitalize()} is not available with --screen-reader yet."
            self._chat.say(_NEXT_DOOR.get(view, sentence))

    @property
    def missing(self) -> Sequence[View]:
        """The views that are refused."""
        return [view for view in get_args(View) if view not in self._views]

    async def _help(self, _text: str) -> None:
        self.show_help()

    # Models

    async def _models(self, _text: str) -> None:
        if (ref := await self._chosen_model("Models")) is not None:
            await self._chat.use_model(str(ref))

    async def _manager(self, _text: str) -> None:
        ref = await self._chosen_model("All models")
        if ref is None:
            return
        actions = LinearModelActions(self._chat, lambda work: work.close())
        reasons = await self._chat.runtime.manager.unavailable_reasons(ref)
        able = [(words, action) for words, action in _MODEL_ACTIONS if reasons[action] is None]
        rows = ["Chat with it", "Read its details", *(words for words, _ in able)]
        chosen = await self._chat.questions.choose(f"What to do with {clean_name(ref.model)}", rows)
        if chosen == 0:
            await self._chat.use_model(str(ref))
        elif chosen == 1:
            await actions.read(ref)
        elif chosen is not None:
            await actions.change(able[chosen - 2][1], ref)

    async def _chosen_model(self, title: str) -> ModelRef | None:
        catalog, used = self._chat.runtime.catalog, self._chat.session.ref
        listings = await catalog.refresh(services=False)
        for listing in listings:
            if listing.problem is not None:
                self._chat.say(listing.problem.message, "warning")
        models = [
            (ModelRef(listing.provider, info.name), info)
            for listing in listings
            for info in listing.models
        ]
        if not models:
            self._chat.say("No models found.", hint="In a shell, ollm doctor says why.")
            return None
        rows = [
            model_row(catalog.shown_address(ref), info, is_used=ref == used) for ref, info in models
        ]
        chosen = await self._chat.questions.choose(title, rows)
        return None if chosen is None else models[chosen][0]

    async def _profiles(self, _text: str) -> None:
        listed = self._chat.runtime.profiles.listed()
        used = self._chat.session.client.conversation.profile
        if not listed:
            self._chat.say("There are no profiles yet.", hint="/profile save NAME makes one.")
            return
        rows = [
            ", ".join(filter(None, (clean_name(name), about, "in use" if name == used else "")))
            for name, about in listed.items()
        ]
        chosen = await self._chat.questions.choose("Profiles", rows)
        if chosen is not None:
            name = list(listed)[chosen]
            self._chat.say(f"To use it: /profile {clean_name(name)}")

    async def _settings(self, text: str) -> None:
        await SettingsView(self._chat).show(text)

    # The open chat

    async def _context(self, _text: str) -> None:
        conversation = self._chat.session.client.conversation
        figures = await self._chat.runtime.measure(conversation)
        about = "about " if figures.estimated else ""
        lines = [f"The chat uses {about}{figures.used:,} of {figures.limit:,} tokens."]
        lines += [f"{clean_line(what)}: {tokens:,}" for what, tokens in figures.parts]
        self._chat.write("\n".join(lines))
        rows = [*map(_remedy, figures.ways), "Start a new chat"]
        rows += [_SUMMARISE] if can_compact(self._chat.session) else []
        chosen = await self._chat.questions.choose("Ways to make room", rows)
        if chosen is None:
            return
        if rows[chosen] == _SUMMARISE:
            await self._compacting.start()
        elif chosen == len(figures.ways):
            self._chat.start_new()
            self._chat.say("New chat.")
        else:
            self._chat.runtime.apply_remedy(conversation, figures.ways[chosen])
            self._chat.say("Done. The chat keeps everything.")

    async def _prompt(self, text: str) -> None:
        conversation = self._chat.session.client.conversation
        prompt = await self._chat.runtime.exact_prompt(conversation, text)
        self._chat.write("\n".join([*prompt.notes, "Prompt:", prompt.text, "End of prompt."]))

    async def _links(self, _text: str) -> None:
        conversation = self._chat.session.client.conversation
        links = links_of(conversation.last_answer() or "")
        known = {address for _name, address in links}
        of_tools = links_of_turn(conversation.messages)
        links += [link for link in dict.fromkeys(of_tools) if link[1] not in known]
        if not links:
            self._chat.say("The last answer has no links.")
            return
        rows = [clean_name(f"{name}, {address}" if name else address) for name, address in links]
        chosen = await self._chat.questions.choose("Links", rows)
        if chosen is None:
            return
        target = read_link(links[chosen][1])
        if isinstance(target, LinkRefusal):
            self._chat.say(target.reason, "error")
        elif await self._chat.questions.is_sure(f"Open {clean_name(target.address)}?"):
            problem = await self.opener.open(target.address)
            self._chat.say(problem or "Handed to the browser.")

    async def _rename(self, title: str) -> None:
        await self._chat.runtime.branches.rename(self._chat.session.client, title)
        self._chat.say(f"Renamed this chat to “{clean_line(title)}”.")

    async def _private(self, word: str) -> None:
        await self._chat.private.switch(word)

    async def _edit(self, _text: str) -> None:
        messages = self._chat.session.client.conversation.messages
        asked = [at for at, message in enumerate(messages) if is_question(message)]
        if not asked:
            self._chat.say("No messages yet.")
            return
        before = messages[asked[-1]].text
        if "\n" in before:
            text = await self._writing.edited(before)
        else:
            text = await self._chat.questions.line("Edit: ", before)
        if text is None or not text.strip():
            self._chat.say("Nothing was changed.")
            return
        self._chat.replaced = asked[-1]
        await self._chat.send(text)


def _remedy(remedy: ContextRemedy) -> str:
    match remedy:
        case LeaveOutTurns(turns=turns):
            return f"Leave out the oldest {counted(turns, 'question')} with the answers"
        case RaiseWindow():
            return f"Load the model with a window of {remedy.num_ctx:,} tokens"
        case DropAttachments():
            return f"Leave out {counted(remedy.count, 'attachment')}"
        case _:
            return "Send everything again"
