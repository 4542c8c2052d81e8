"""Pictures in the whole app: pasted, dropped or by command, shown, sent, edited and asked again."""

import os
from pathlib import Path

import anyio
import pytest
from textual import events

from ollm_tui.attachments.attachment import AttachedImage, AttachedText, FileBytes, image_of
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, shell_line
from ollm_tui.decode.images import image_data
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent
from ollm_tui.protocol.message import Message
from tests.support.picture_bytes import bmp, jpeg, png
from tests.tui.screens import Stage, staged
from tests.tui.svg import SIZES, SvgSnapshot


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the program runs in."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "cat.png").write_bytes(png())
    (here / "my dog.jpg").write_bytes(jpeg())
    (here / "old.bmp").write_bytes(bmp())
    (here / "notes.md").write_text("one\ntwo\n")
    monkeypatch.chdir(here)
    return here


async def paste(stage: Stage, text: str) -> None:
    """Paste, and let the time go by in which Enter belongs to the paste."""
    stage.chat.composer.post_message(events.Paste(text))
    await read(stage)
    stage.chat.composer.guarded_until = 0.0


async def read(stage: Stage) -> None:
    """Wait until what was named is read."""
    await stage.pilot.pause()
    busy = [one for one in stage.app.workers if one.group in {"attach", "command", "files"}]
    if busy:
        await stage.app.workers.wait_for_complete(busy)
    await stage.settle()


def bytes_of(block: Block) -> bytes | None:
    assert isinstance(block, ImageContent)
    data = image_data(block.data, block.url)
    return None if data is None else data.whole()


def content(stage: Stage) -> list[object]:
    """Give what was sent last: texts, and the bytes of pictures."""
    return [
        block.text if isinstance(block, TextContent) else bytes_of(block)
        for block in stage.client.conversation.messages[-1].content
    ]


async def test_a_pasted_path_becomes_a_picture_that_is_shown_and_sent(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await paste(stage, f"'{folder}/my dog.jpg' ")
        assert stage.chat.composer.text == "[Image #1] "
        assert "Image #1 · my dog.jpg · jpeg · 5 x 4 · " in stage.screen_text
        await stage.ask("What is it?")
        assert content(stage) == [jpeg(), "What is it?"]
        assert "\nWhat is it?\nmy dog.jpg · jpeg · 5 x 4 · " in f"\n{stage.shown}"
        assert "Image #1" not in stage.screen_text


async def test_several_dropped_files_and_relative_paths_are_pictures_too(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await paste(stage, f"{folder}/cat.png\r\nfile://{folder}/my%20dog.jpg")
        await paste(stage, "cat.png")
        assert stage.chat.composer.text == "[Image #1] [Image #2] [Image #3] "
        await stage.ask("")
        assert content(stage) == [png(), jpeg(), png()]


@pytest.mark.parametrize("text", ["none.png", "see cat.png", "cat.png is a file", "hello"])
async def test_another_paste_stays_text(text: str, folder: Path, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await paste(stage, text)
        assert stage.chat.composer.text == text
        await stage.ask("")
        assert stage.client.prompts == [text]


async def test_why_a_pasted_picture_cannot_be_sent_is_reported_and_its_path_stays(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 24)) as stage:
        await paste(stage, "old.bmp")
        assert stage.chat.composer.text == "old.bmp"
        assert "old.bmp is a BMP file." in stage.screen_text


async def test_enter_waits_for_the_file_and_a_further_key_takes_it_back(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        composer = stage.chat.composer
        composer._reading += 1
        composer.insert_pasted("cat.png")
        await stage.pilot.press("enter")
        assert stage.client.prompts == []
        token = composer.pictures.add(_cat())
        composer.end_reading("cat.png", f"{token} ")
        await stage.settle()
        assert content(stage) == [png()]
        stage.client.answer("A cat.")
        await stage.settle()
        composer._reading += 1
        composer.insert_pasted("cat.png")
        await stage.pilot.press("enter", "a")
        composer.end_reading("cat.png", "")
        assert composer.text == "cat.pnga"


@pytest.mark.parametrize(
    "parts",
    [
        ("\n/permissions all",),
        (" ", "!ls"),
        ("!ls " + "x" * 30_000,),
        ("quit",),
        (AttachedText("!ls #", "one\n"),),
        (AttachedText("/new x", "one\n" * 30),),
    ],
    ids=[
        "a command",
        "after nothing",
        "a long one, which is folded",
        "a word that quits",
        "the name of a resource",
        "a name of a long resource",
    ],
)
async def test_words_of_a_server_are_no_command(
    parts: tuple[str | AttachedText, ...], tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.controller.attaching.insert(parts)
        typed = stage.chat.composer.value
        assert parse(typed, COMMANDS) is None
        assert shell_line(typed) is None


def _cat() -> AttachedImage:
    return image_of(FileBytes("cat.png", png()))


async def test_a_token_is_one_unit_and_without_it_nothing_is_sent(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await paste(stage, "cat.png")
        await stage.pilot.press("left", "left", "delete")
        assert stage.chat.composer.text == " "
        assert "Image #1" not in stage.screen_text
        await stage.pilot.press("ctrl+underscore")
        assert "Image #1 · cat.png" in stage.screen_text
        await stage.pilot.press("end", "backspace", "backspace")
        await stage.ask("hi")
        assert stage.client.conversation.messages[-1] == Message("user", "hi")


async def test_attach_puts_a_picture_beside_the_draft_until_it_is_sent(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        for command in ("/attach cat.png", "/attach my dog.jpg", "/attach none.png"):
            await stage.ask(command)
            await read(stage)
        assert "does not exist" in stage.shown
        assert "Image #1 · cat.png · png · 3 x 2 · " in stage.screen_text
        await stage.ask("/attach")
        assert "Image #2 · my dog.jpg · jpeg · 5 x 4 · " in stage.shown
        await stage.ask("/attach remove 1")
        await read(stage)
        assert "cat.png · png" not in stage.screen_text.rpartition("Image #2")[2]
        await stage.ask("What is it?")
        assert content(stage) == ["What is it?", jpeg()]
        stage.client.answer("A dog.")
        await stage.ask("And now?")
        assert content(stage) == ["And now?"]


async def test_attach_puts_the_text_of_a_file_into_the_draft(folder: Path, tmp_path: Path) -> None:
    (folder / "long.txt").write_text("line\n" * 30)
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("/attach notes.md")
        await read(stage)
        assert stage.chat.composer.text == "notes.md:\n```\none\ntwo\n```\n"
        stage.chat.composer.load_draft("")
        await stage.ask("/attach long.txt")
        await read(stage)
        assert stage.chat.composer.text.startswith("[Pasted text #1 · 33 lines]")


async def test_a_file_that_tools_may_not_read_is_attached_with_a_word_about_it(
    folder: Path, tmp_path: Path
) -> None:
    (folder / ".netrc.bak").write_text("machine example.com")
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("/attach notes.md")
        await read(stage)
        assert "passwords or keys" not in stage.screen_text
        stage.chat.composer.load_draft("")
        await stage.ask("/attach .netrc.bak")
        await read(stage)
        assert "machine example.com" in stage.chat.composer.text
        assert ".netrc.bak may contain passwords or keys." in stage.screen_text


async def test_a_chat_that_is_asked_again_or_edited_keeps_its_pictures(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        await paste(stage, "cat.png")
        await stage.ask("like this one?")
        stage.client.answer("No.")
        await stage.settle()
        await stage.ask("/retry")
        await read(stage)
        assert stage.client.prompts[-1] is None
        assert stage.shown.count("cat.png · png · 3 x 2 · ") == 1
        stage.client.answer("Yes.")
        await stage.settle()
        await stage.pilot.press("escape", "escape")
        assert stage.chat.composer.text == "[Image #2] like this one?"
        assert "Image #2 · cat.png · png · 3 x 2 · " in stage.screen_text
        await stage.ask(" Or not?")
        assert content(stage) == [png(), "like this one? Or not?"]
        assert stage.client.rewound == [0]


async def test_queued_and_recalled_prompts_keep_their_pictures(
    folder: Path, tmp_path: Path
) -> None:
    history = tmp_path / "history.jsonl"
    async with staged(tmp_path / "config.toml", size=(100, 40), history=history) as stage:
        await stage.ask("first")
        await paste(stage, "cat.png")
        await stage.ask("second")
        assert "1 queued" in stage.screen_text
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.chat.composer.text == "[Image #1] second"
        await stage.ask("")
        assert content(stage) == [png(), "second"]
        stage.client.answer("Seen.")
        await stage.settle()
        await stage.pilot.press("up")
        assert "Image #1 · cat.png" in stage.screen_text
        await stage.ask("")
        assert content(stage) == [png(), "second"]
    assert "Image" not in history.read_text()


async def test_twenty_pictures_are_the_most(folder: Path, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        await paste(stage, "\n".join(["cat.png"] * 20))
        assert "and 18 more files" in stage.screen_text
        await paste(stage, "cat.png")
        assert stage.chat.composer.text.endswith("[Image #20] cat.png")
        assert "20 files are the limit for one message." in stage.screen_text


async def test_a_pipe_that_is_named_holds_nothing_up(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "pipe.png")
    async with staged(tmp_path / "config.toml", size=(100, 24)) as stage:
        await paste(stage, "pipe.png")
        assert "is not a file but a pipe" in stage.screen_text


async def test_names_of_files_are_shown_and_never_obeyed(folder: Path, tmp_path: Path) -> None:
    (folder / "[red]\x1b[31m\u202e.png").write_bytes(png())
    async with staged(tmp_path / "config.toml", size=(120, 24)) as stage:
        await paste(stage, str(folder / "[red]\x1b[31m\u202e.png"))
        assert "Image #1 · [red]⟦U+001B⟧[31m⟦U+202E⟧.png · png" in stage.screen_text


async def test_a_picture_pasted_before_the_runtime_is_there_is_read_when_it_is(
    folder: Path, tmp_path: Path
) -> None:
    opened = anyio.Event()
    async with staged(tmp_path / "config.toml", opened=opened) as stage:
        stage.chat.composer.post_message(events.Paste("cat.png"))
        await stage.pilot.pause()
        assert stage.chat.composer.text == "cat.png"
        opened.set()
        with anyio.fail_after(5):
            while stage.chat.composer.text != "[Image #1] ":
                await stage.pilot.pause(0.005)


async def test_a_picture_without_its_file_in_the_chat_cannot_be_edited(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        await stage.ask("one?")
        stage.client.answer("Yes.")
        link = ImageContent(url="https://a.example/p.png")
        stage.client.conversation.messages[0] = Message("user", [TextContent("one?"), link])
        await stage.settle()
        await stage.pilot.press("escape", "escape")
        assert "A message with more than text cannot be edited here" in stage.screen_text


async def test_an_at_sign_finds_files_by_a_few_letters_and_attaches_what_is_chosen(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.type("see @dg")
        await read(stage)
        assert "my dog.jpg" in stage.screen_text
        await stage.pilot.press("enter")
        await read(stage)
        assert stage.chat.composer.text == "see [Image #1] "
        assert stage.client.prompts == []
        await stage.ask("there")
        assert content(stage) == ["see ", jpeg(), " there"]


async def test_a_whole_name_and_a_blank_attach_too_and_words_behind_stay(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        stage.chat.composer.insert(" is a cat")
        stage.chat.composer.move_cursor((0, 0))
        await stage.type("@cat.png")
        await read(stage)
        await stage.pilot.press("space")
        await read(stage)
        assert stage.chat.composer.text == "[Image #1]  is a cat"


async def test_enter_waits_for_the_search_and_sends_what_no_file_answers_to(
    folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        stage.chat.composer.insert("mail it to @zoe")
        await stage.pilot.press("enter")
        await read(stage)
        await stage.settle()
        assert stage.client.prompts == ["mail it to @zoe"]


async def test_a_chosen_text_file_is_put_into_the_prompt(folder: Path, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.type("@note")
        await read(stage)
        await stage.pilot.press("tab")
        await read(stage)
        assert stage.chat.composer.text == "notes.md:\n```\none\ntwo\n```\n"


async def test_folders_are_gone_into_and_the_argument_of_attach_is_completed(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.png").write_bytes(png())
    async with staged(tmp_path / "config.toml", size=(120, 40)) as stage:
        stage.chat.composer.insert(f"@{folder}/s")
        await stage.type("u")
        await read(stage)
        await stage.pilot.press("tab")
        await read(stage)
        assert stage.chat.composer.text == f"@{folder}/sub/"
        await stage.pilot.press("tab")
        await read(stage)
        assert stage.chat.composer.text == "[Image #1] "
        stage.chat.composer.load_draft("")
        await stage.type("/attach dee")
        await read(stage)
        await stage.pilot.press("enter")
        assert stage.chat.composer.text == "/attach sub/deep.png"
        await read(stage)
        await stage.pilot.press("enter")
        await read(stage)
        assert "Image #2 · deep.png" in stage.screen_text


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_how_attached_pictures_look(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await paste(stage, f"'{folder}/my dog.jpg' {folder}/cat.png")
        stage.chat.composer.insert("Which of them is older?")
        await stage.settle()
        await stage.settle()
        svg_snapshot(stage.app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_how_the_search_for_a_file_looks(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, folder: Path, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await stage.type("What is on @")
        await read(stage)
        await stage.settle()
        svg_snapshot(stage.app)


async def test_a_picture_from_the_clipboard_becomes_a_token_or_a_sentence(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = tmp_path / "picture"
    picture.write_bytes(png())
    xclip = tmp_path / "xclip"
    xclip.write_text(
        f'#!/bin/sh\ncase "$*" in *TARGETS) echo image/png;; *) /bin/cat {picture};; esac\n'
    )
    xclip.chmod(0o755)
    for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("ollm_tui.attachments.clipboard.sys.platform", "linux")
    async with staged(config) as stage:
        await stage.type("see ")
        await stage.pilot.press("alt+v")
        await stage.settle()
        assert stage.chat.composer.draft == "see [Image #1] "
        picture.write_bytes(b"no picture")
        await stage.pilot.press("alt+v")
        await stage.settle()
        assert stage.chat.composer.draft == "see [Image #1] "
        assert "There is no picture in the clipboard." in stage.screen_text
