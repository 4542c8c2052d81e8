"""A command of the user as a message of the chat."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.chat.command_output import command_message, command_of
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.decode.clean import clean
from ollm_tui.protocol.codec import message_from_json, message_to_json
from ollm_tui.protocol.message import COMMAND, Message
from ollm_tui.shell.command import CommandResult

FOLDER = Path("/work")
RESULT = CommandResult("ls", "a\nb\n", "exited", 0, 0, 0.25, 120)


@given(st.text(), st.text(), st.sampled_from([0, 1]))
def test_a_saved_command_is_shown_as_it_was(command: str, output: str, code: int) -> None:
    result = replace(RESULT, command=command, output=output, code=code)
    message = message_from_json(message_to_json(command_message(result, FOLDER)))
    shown = command_of(message)
    assert shown is not None
    assert shown.command == command
    assert shown.seconds == 0.25
    kept = clean(output).strip("\n")
    assert shown.output == (kept if code == 0 else "\n".join(filter(None, (kept, "Exit code 1."))))
    assert shown.outcome == ("done" if code == 0 else "failed")


def test_no_line_of_the_output_closes_its_block() -> None:
    text = command_message(replace(RESULT, output="```\nnot the end\n"), FOLDER).text
    assert "\n````text\n```\nnot the end\n````" in text


def test_the_model_reads_it_with_the_next_prompt() -> None:
    asked, answered = Message("user", "hi"), Message("assistant", "hello")
    history = [asked, answered, command_message(RESULT, FOLDER), Message("user", "which is first?")]
    sent = messages_to_send(history)
    assert [message.role for message in sent] == ["user", "assistant", "user"]
    assert sent[-1].text.startswith("I ran a command in /work:\n\n```sh\nls\n```\n\nIt printed:")
    assert sent[-1].text.endswith("which is first?")


def test_it_is_no_question_and_gives_no_title() -> None:
    chat = Conversation(messages=[command_message(RESULT, FOLDER)])
    assert chat.title is None
    assert not chat.rewind_to_prompt()
    chat.messages.append(Message("user", "why?"))
    assert chat.title == "why?"


def test_marks_of_other_programs_show_the_text() -> None:
    for marks in ("ls", {"text": 5}, {"text": "ls", "outcome": "done", "output": ["a", 1]}):
        message = Message("user", "x", metadata={COMMAND: marks})  # type: ignore[dict-item]
        assert command_of(message) is None
