"""Budgets so small that short documents pass all of them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from ollm_tui.decode import lexing
from ollm_tui.tui.painters import (
    answer_parts,
    code,
    flow,
    inline,
    markdown,
    plain,
    section_rows,
    table,
)


@contextmanager
def small_budgets() -> Iterator[None]:
    with ExitStack() as stack:
        for module, values in (
            (section_rows, {"PLAIN_FIRST": 60, "CODE_PLAIN_FIRST": 60}),
            (markdown, {"OPEN_BUDGET": 80, "_TAKEN_AT_ONCE": 50, "_LINES_AT_ONCE": 2}),
            (inline, {"PIECE": 40, "PIECE_COST": 120, "OPEN_COST": 200}),
            (inline, {"MAX_LENGTH": 200, "MAX_BRACKETS": 8}),
            (flow, {"MAX_LENGTH": 250, "_MAX_COST": 30}),
            (code, {"MAX_LINES": 12, "MAX_CHARS": 300, "MAX_LINE_LENGTH": 60}),
            (code, {"OPEN_LINES": 6, "_OPEN_CHUNK": 3, "_OPEN_CHARS": 60, "_AT_ONCE": 2}),
            (lexing, {"WINDOW": 32, "EAGER_PIECE": 32}),
            (table, {"_MEASURED_CHARS": 60, "MAX_ROW_LENGTH": 60}),
            (plain, {"PIECE": 16}),
            (answer_parts, {"_COMPARED": 3}),
        ):
            for name, value in values.items():
                stack.enter_context(patch.object(module, name, value))
        yield
