"""Numbered choices, and views that exist or are refused with a sentence."""

from collections import deque

import anyio

from ollm_tui.linear.questions import PAGE, Question, Questions


class Typist:
    """A terminal on which known lines are typed."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = deque(lines)
        self.heard: list[str] = []

    def say(self, text: str) -> None:
        self.heard += text.split("\n")

    def wake(self) -> None:
        """Do nothing: nothing waits."""


class Answered(Questions):
    """Answers each question at once with what is typed next."""

    def __init__(self, typist: Typist) -> None:
        super().__init__(typist)  # type: ignore[arg-type]  # what it uses of a terminal
        self.typist = typist

    async def _ask(self, question: Question) -> str | None:
        self.typist.heard.append(question.prompt)
        return self.typist.lines.popleft()


async def chosen(rows: list[str], *typed: str | None) -> tuple[int | None, list[str]]:
    typist = Typist(*typed)
    with anyio.fail_after(5):
        return await Answered(typist).choose("Models", rows), typist.heard


async def test_a_number_chooses() -> None:
    assert await chosen(["a", "b"], "2") == (
        1,
        ["Models, 2.", "1. a", "2. b", "Number, words to filter, or Enter to leave: "],
    )


async def test_words_filter_and_the_numbers_stay() -> None:
    position, heard = await chosen(["red cat", "dog", "Red dog"], "red", "2", "3")
    assert position == 2
    assert heard[5:8] == ["Models, 2.", "1. red cat", "3. Red dog"]
    assert "There is no number 2 here." in heard


async def test_many_rows_come_in_pages() -> None:
    position, heard = await chosen([f"m{n}" for n in range(PAGE + 3)], "n", None)
    assert position is None
    assert heard[0] == f"Models, 1 to {PAGE} of {PAGE + 3}."
    assert heard[PAGE + 2] == f"Models, {PAGE + 1} to {PAGE + 3} of {PAGE + 3}."
    assert heard[-2] == f"{PAGE + 3}. m{PAGE + 2}"
