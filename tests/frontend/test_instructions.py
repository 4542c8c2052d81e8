"""Instructions are offered, never loaded by themselves, and what was loaded is seen."""

from pathlib import Path

import pytest

from ollm_tui.attachments.instructions import InstructionFiles
from ollm_tui.chat.conversation import Conversation, SystemTemplate
from ollm_tui.frontend.instructions import ChatInstructions
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message


class Offers:
    def __init__(self, folder: Path) -> None:
        self.conversation = Conversation()
        self.notes: list[str] = []
        files = InstructionFiles(folder, folder / "none")
        self.instructions = ChatInstructions(files, lambda: self.conversation)

    def say(self, text: str, kind: str = "info", hint: str | None = None) -> None:
        assert kind == "info"
        self.notes.append(f"{text} {hint}")


@pytest.fixture
def offers(tmp_path: Path) -> Offers:
    (tmp_path / "AGENTS.md").write_text("Write tests first.\x1b[2J")
    return Offers(tmp_path)


async def test_they_are_offered_in_a_new_chat_and_change_nothing(offers: Offers) -> None:
    await offers.instructions.offer(offers.say)
    assert offers.notes == [
        "This folder has instructions: AGENTS.md (6 tokens). None is in use."
        " /skills shows them and adds one to this chat."
    ]
    assert offers.conversation == Conversation()
    offers.conversation.messages.append(Message("user", "hi"))
    await offers.instructions.offer(offers.say)
    assert len(offers.notes) == 1


async def test_a_folder_without_any_is_silent(tmp_path: Path) -> None:
    offers = Offers(tmp_path)
    await offers.instructions.offer(offers.say)
    assert offers.notes == []


async def test_what_was_added_is_in_the_system_prompt_until_it_is_taken_out(
    offers: Offers, tmp_path: Path
) -> None:
    offers.conversation.system_prompt = "Be brief."
    await offers.instructions.add("agents.md")
    assert offers.conversation.system_prompt.startswith("Be brief.\n\n<instructions from=")
    assert "Write tests first." in offers.conversation.system_prompt
    (tmp_path / "AGENTS.md").unlink()
    [listed] = await offers.instructions.listed()  # it is still in use
    assert (listed.name, listed.is_used) == ("AGENTS.md", True)
    assert offers.instructions.remove(None) == ["AGENTS.md"]
    assert offers.conversation.system_prompt == "Be brief."
    assert offers.instructions.remove("AGENTS.md") == []


async def test_nothing_is_added_to_a_template(offers: Offers) -> None:
    offers.conversation.system_prompt = "{{ day }}"
    offers.conversation.system_template = SystemTemplate("{{ day }}", "jinja2")
    with pytest.raises(AIError, match="is a template"):
        await offers.instructions.add("AGENTS.md")
    assert offers.conversation.system_prompt == "{{ day }}"
