"""Which pictures a draft means, and what is made of it when it is sent."""

import pytest

from ollm_tui.attachments.attachment import AttachedImage, FileBytes, image_of
from ollm_tui.protocol.blocks import ImageContent, TextContent, normalize_content
from ollm_tui.tui.chat.restore import drafted, prompt_words
from ollm_tui.tui.composer.pictures import DraftPictures
from tests.support.picture_bytes import png


def picture(width: int = 3) -> AttachedImage:
    return image_of(FileBytes("a.png", png(width)))


def pictures_of(count: int) -> DraftPictures:
    pictures = DraftPictures()
    for width in range(1, count + 1):
        pictures.add(picture(width))
    return pictures


def sent_of(pictures: DraftPictures, draft: str) -> list[str | int | None]:
    """Give text as it is and pictures by their width."""
    return [
        block.text if isinstance(block, TextContent) else block.width
        for block in normalize_content(pictures.content(draft))
        if isinstance(block, TextContent | ImageContent)
    ]


@pytest.mark.parametrize(
    ("draft", "sent"),
    [
        ("no picture", ["no picture"]),
        ("[Image #1]", [1]),
        ("What is it? [Image #1] ", ["What is it?", 1]),
        ("[Image #1] What is it?", [1, "What is it?"]),
        ("is [Image #2] like [Image #1]?", ["is ", 2, " like ", 1, "?"]),
        ("[Image #1] [Image #2]", [1, 2]),
        ("[Image #1] and again [Image #1]", [1, "and again [Image #1]"]),
        ("[Image #3] is none", ["[Image #3] is none"]),
        ("[Image #01] [image #1] [Image #1234567]", ["[Image #01] [image #1] [Image #1234567]"]),
    ],
)
def test_each_picture_stands_in_the_place_of_its_token(
    draft: str, sent: list[str | int | None]
) -> None:
    assert sent_of(pictures_of(2), draft) == sent


def test_a_token_means_its_picture_until_that_is_sent_or_when_the_draft_comes_back() -> None:
    pictures = pictures_of(1)
    assert sent_of(pictures, "see [Image #1]") == ["see", 1]
    # A text from elsewhere that says the same sends nothing.
    assert (sent_of(pictures, "a log: [Image #1]"), pictures.spans("[Image #1]")) == (
        ["a log: [Image #1]"],
        [],
    )
    pictures.revive("see [Image #1]")
    assert pictures.spans("[Image #1]") == [(0, 10)]
    assert sent_of(pictures, "see [Image #1]") == ["see", 1]


def test_what_waits_beside_the_draft_goes_with_the_next_prompt() -> None:
    pictures = DraftPictures()
    assert not pictures
    tokens = [
        pictures.put_beside(picture(1)),
        pictures.add(picture(2)),
        pictures.put_beside(picture(3)),
    ]
    assert [number for number, _ in pictures.attached("")] == [1, 3]
    assert [number for number, _ in pictures.attached(tokens[1])] == [2, 1, 3]
    assert (pictures.remove(7), pictures.remove(1)) == (0, 1)
    assert pictures.take_beside("hi") == "hi [Image #3]"
    assert (pictures.take_beside("hi"), pictures.beside) == ("hi", [])
    assert sent_of(pictures, "hi [Image #3]") == ["hi", 3]


def test_what_is_written_down_for_another_run_has_no_tokens() -> None:
    pictures = pictures_of(1)
    assert pictures.without("see [Image #1] and [Image #2]") == "see  and [Image #2]"


@pytest.mark.parametrize(
    "draft", ["is [Image #1] like [Image #2]?", "a\n[Image #1]\nb", "see [Image #1] there"]
)
def test_a_question_reads_as_it_was_written_where_pictures_stand_among_words(draft: str) -> None:
    content = normalize_content(pictures_of(2).content(draft))
    assert prompt_words(content) == draft
    assert drafted(content, ["[Image #1]", "[Image #2]"]) == draft
