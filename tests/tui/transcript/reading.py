"""Going through a chat by keys: chats to go through, and where the cursor and the caret stand."""

from tests.tui.screens import Stage
from tests.tui.scripted import finish, text, thinking


async def two_answers(stage: Stage) -> None:
    for number, question in enumerate(("one?", "two?"), 1):
        await stage.ask(question)
        stage.client.give(
            thinking(f"thought {number}", f"t{number}"),
            text(f"**answer** {number}", f"a{number}"),
            finish(),
        )
        await stage.settle()


def under_cursor(stage: Stage) -> str | None:
    block = stage.chat.transcript.cursor.block
    return None if block is None else block.source.text


def barred(stage: Stage) -> list[str]:
    """What stands in the rows that have the cursor's bar."""
    view = stage.chat.transcript
    style = view.get_component_rich_style("transcript--cursor", partial=True)
    strips = [view.render_line(y) for y in range(view.size.height)]
    return [
        strip.text.strip()
        for strip in strips
        if (first := next(iter(strip)).style) is not None
        and first.bgcolor == style.bgcolor
        and bool(first.reverse) == bool(style.reverse)
    ]


async def press(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.settle()


CODE = "Two:\n\n```py\none\n\tx  \n```\n\nand\n\n- item\n\n  ```\n  two\n  ```\n"


async def with_code(stage: Stage) -> None:
    await stage.ask("code?")
    stage.client.give(text(CODE), finish())
    await stage.settle()


def broadly_barred(stage: Stage) -> list[str]:
    """What stands in the rows whose whole margin is marked."""
    view = stage.chat.transcript
    style = view.get_component_rich_style("transcript--cursor", partial=True)
    found = []
    for y in range(view.size.height):
        strip = view.render_line(y)
        margin = strip.crop(0, 3)
        if all(one.style is not None and one.style.bgcolor == style.bgcolor for one in margin):
            found.append(strip.crop(3, 60).text.strip())
    return found


def carets(stage: Stage) -> list[str]:
    """What the caret stands on."""
    view = stage.chat.transcript
    return [
        segment.text
        for y in range(view.size.height)
        for segment in view.render_line(y)
        if segment.style is not None and segment.style.reverse
    ]
