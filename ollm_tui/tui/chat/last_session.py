"""What is left of a program that ended without closing, on the chat screen."""

from functools import partial
from typing import Final

from ollm_tui.frontend.last_session import LastSession, OpenChatFile
from ollm_tui.frontend.session import ChatSession
from ollm_tui.tui.chat.parts import ChatParts
from ollm_tui.tui.services import Say

CRASHED: Final = 1
"""The exit code of an app in which something failed."""


def last_session(session: ChatSession, parts: ChatParts, say: Say) -> LastSession:
    """Return what keeps the open chat on the disk, for the screen with these parts."""
    folder, app = parts.services.sessions_dir, parts.transcript.app
    run = partial(parts.dialogs.run, group="last session")
    file = OpenChatFile(folder) if folder is not None else None
    return LastSession(session, run, say, file, lambda: app.return_code == CRASHED)
