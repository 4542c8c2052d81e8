"""What the input offers beside typing, put together: the editor, snippets, drafts, the shell."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ollm_tui.attachments.snippets import SnippetFolder
from ollm_tui.commands.host import View
from ollm_tui.frontend.session import ChatSession
from ollm_tui.tui.chat.parts import ChatParts
from ollm_tui.tui.chat.ports import ChatAct
from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue
from ollm_tui.tui.chat.prompting.shell_commands import ShellCommands
from ollm_tui.tui.chat.prompting.snippets import snippets_on_screen
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.composer import (
    NEW,
    Attachments,
    DraftFolder,
    DraftKeeper,
    ExternalEditor,
    QueueDialog,
    WaitingPrompt,
)
from ollm_tui.tui.services import Say
from ollm_tui.tui.terminal import can_lend, run_in_terminal
from ollm_tui.tui.widgets import FLASH_S


class WritingTools:
    """Builds what the input offers beside typing, on the parts of the screen."""

    def __init__(
        self,
        parts: ChatParts,
        session: ChatSession,
        queue: PromptQueue,
        status: StatusPresenter,
        say: Say,
    ) -> None:
        self._parts, self._queue, self.dialogs = parts, queue, parts.dialogs
        app, approver = parts.transcript.app, parts.services.approver
        queue.run_shell = ShellCommands(
            session, parts.transcript, status, approver, parts.composer, say
        ).run
        self.editor = ExternalEditor(
            parts.composer,
            parts.dialogs,
            say,
            run=partial(run_in_terminal, app),
            can_run=partial(can_lend, app),
        )
        services = parts.services
        self.snippets = snippets_on_screen(
            SnippetFolder(services.snippets_dir or services.config_file.parent / "snippets"),
            parts.composer,
            self.editor,
            parts.dialogs,
            parts.hints,
            say,
        )
        folder = parts.services.drafts_dir
        self.drafts = DraftKeeper(
            parts.composer,
            parts.dialogs,
            DraftFolder(folder) if folder is not None else None,
            lambda: _key_of(session),
            lambda missing: parts.hints.flash(_back(missing), FLASH_S),
        )

    def show_queue(self) -> None:
        """List what waits, to change the order."""
        if self._queue.is_waiting:
            dialog = QueueDialog(self._queue.waiting, self._parts.keymap)
            self.dialogs.open(dialog, self._edit_waiting)
        else:
            self._parts.hints.flash("No messages are waiting", FLASH_S)

    def _edit_waiting(self, item: WaitingPrompt | None) -> None:
        text = self._queue.waiting.take(item) if item is not None else None
        if text is not None:
            self._parts.composer.prepend(text)

    def views(self) -> Mapping[View, Callable[[str], None]]:
        """Return what the commands open."""
        return {"editor": self.editor.edit_draft, "queue": lambda _: self.show_queue()}

    def acts(self, attaching: Attachments) -> Mapping[ChatAct, Callable[[], Any]]:
        """Return what the keys do."""
        return {
            "edit_draft": self.editor.edit_draft,
            "paste_picture": attaching.paste_picture,
        }


def _back(missing: Sequence[str]) -> str:
    if not missing:
        return "Your draft from before is back"
    return f"Your draft is back without {', '.join(missing)}, which cannot be read any more"


def _key_of(session: ChatSession) -> str | None:
    """Return the id of the open chat for its draft; None for one that is not saved."""
    client = session.client
    if client.saving.journal is None:
        return None
    return session.runtime.chat_id(client) or NEW
