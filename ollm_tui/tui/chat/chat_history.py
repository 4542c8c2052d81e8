"""Saved chats on the screen: the list of them, and going on with one."""

from typing import TYPE_CHECKING

from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.capabilities import KeepsChats
from ollm_tui.tui.chat.pick_dialog import PickChat

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen


class ChatHistory:
    """Opens the list, and the chat that is chosen there."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller

    def show(self) -> None:
        """List the chats."""
        runtime = self._desk.runtime
        if isinstance(runtime, KeepsChats):
            picker = PickChat(runtime.chats, runtime.chat_id(self._desk.session.client))
            self._screen.app.push_screen(picker, self._chosen)
        else:
            self._desk.say("Chats are not saved here.")

    def _chosen(self, chat_id: str | None) -> None:
        if chat_id is not None:
            self._screen.run_worker(self._open(chat_id), group="open", exclusive=True)

    async def _open(self, chat_id: str) -> None:
        runtime = self._desk.runtime
        if not isinstance(runtime, KeepsChats) or self._is_open(runtime, chat_id):
            return
        if not await self._desk.views.may_stop("open the other chat"):
            return
        try:
            client = await runtime.open_chat(chat_id)
        except AIError as error:
            self._desk.say(error.message, "error", error.hint)
        else:
            self._desk.go_to(client)
            await self._desk.branches.tell_others()
            await self._desk.session.find_window()
            self._desk.status.show_talk()

    def _is_open(self, runtime: KeepsChats, chat_id: str) -> bool:
        return runtime.chat_id(self._desk.session.client) == chat_id
