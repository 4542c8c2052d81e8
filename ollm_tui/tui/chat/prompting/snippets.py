"""Snippets on the chat screen: put into the input, and removed after a dialog."""

from functools import partial

from ollm_tui.attachments.snippets import PLACEHOLDER, SnippetFolder
from ollm_tui.frontend.snippets import ChatSnippets
from ollm_tui.tui.composer import Composer, ExternalEditor
from ollm_tui.tui.dialogs import Dialogs, Passage, YesNoDialog
from ollm_tui.tui.services import Say
from ollm_tui.tui.widgets import FLASH_S, HintLine


class RemoveSnippet(YesNoDialog):
    """Returns whether to remove a snippet; shows all of it."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(
            "Remove this snippet?",
            "Its file is deleted.",
            Passage(name, text),
            yes="remove it",
            no="or Esc keep it",
        )


def snippets_on_screen(
    folder: SnippetFolder,
    composer: Composer,
    editor: ExternalEditor,
    dialogs: Dialogs,
    hints: HintLine,
    say: Say,
) -> ChatSnippets:
    """Return what puts snippets into the input, with the first open placeholder selected."""

    async def use(text: str) -> None:
        composer.prepend(text.strip("\n"))
        if PLACEHOLDER.search(text) is not None:
            composer.action_next_placeholder(from_start=True)
            hints.flash("Type to fill it; Tab goes to the next one", FLASH_S)

    async def may_remove(name: str, text: str) -> bool:
        answer = await dialogs.ask(RemoveSnippet(name, text))
        return answer is True

    run = partial(dialogs.run, group="snippets")
    return ChatSnippets(folder, use, editor.edited, may_remove, run, say)
