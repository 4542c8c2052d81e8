"""What is done in a soak, turn by turn; the same seed makes the same plan."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["plain", "endless", "tool", "cut", "error", "garbage"]
Before: TypeAlias = Literal["nothing", "new chat", "other chat"]
ABORTED = 0.20
TOOLS = 0.10
FAULTED = 0.05
EARLY = 0.2
"""How many of the aborts come before the server has seen the prompt."""
TITLE = "Please, and take your time"
"""What every prompt begins with, and so what every chat is called."""
MIN_LENGTH, MAX_LENGTH = 25, 50
"""Turns until a new chat is begun."""
SWITCH_EVERY = 80
"""Turns from one switch between saved chats to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt and what is done about it."""

    number: int
    kind: Kind
    size: int
    """Characters of the answer; of an endless one, how many come again and again."""
    before: Before = "nothing"
    row: int = 0
    """Which chat of the list to go to, when another one is opened before."""
    is_early: bool = False
    press_after_s: float = 0.0
    """When Esc is pressed in an endless answer, from the first that is known of it."""

    @property
    def prompt(self) -> str:
        """The words that tell the server what to do."""
        return f"{TITLE}: t{self.number} {self.kind} {self.size}"


def plan(turns: int, seed: int) -> Iterator[Turn]:
    """Return so many turns."""
    chance = random.Random(seed)
    until_new = 0
    for number in range(1, turns + 1):
        before: Before = "nothing"
        if until_new == 0:
            before, until_new = "new chat", chance.randint(MIN_LENGTH, MAX_LENGTH)
        elif number % SWITCH_EVERY == 0:
            before = "other chat"
        until_new -= 1
        yield Turn(
            number=number,
            kind=_kind(chance),
            size=chance.randint(300, 1500),
            before=before,
            row=chance.randint(1, 10),
            is_early=chance.random() < EARLY,
            press_after_s=chance.uniform(0, 0.12),
        )


def _kind(chance: random.Random) -> Kind:
    drawn = chance.random()
    if drawn < ABORTED:
        return "endless"
    if drawn < ABORTED + TOOLS:
        return "tool"
    if drawn < ABORTED + TOOLS + FAULTED:
        faults: tuple[Kind, ...] = ("cut", "error", "garbage")
        return chance.choice(faults)
    return "plain"
