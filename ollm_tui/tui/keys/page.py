"""The reference page of all keys, as Markdown."""

from collections.abc import Iterable

from ollm_tui.tui.keys.table import EDITING, KEYS, READING, SCREENS, Key, display_all


def reference_page() -> str:
    """Write the page of all keys, as Markdown."""
    return "\n".join(
        [
            "# Keys",
            "",
            "Each can be changed in `config.toml` by its id, for example:",
            "",
            "```toml",
            "[keymap]",
            '"chat.models" = "f4"',
            "```",
            "",
            *_rows(key for key in KEYS if key not in READING and key.scope not in SCREENS),
            "",
            "## While browsing messages",
            "",
            *_rows(READING),
            "",
            *(line for scope, head in SCREENS.items() for line in _screen_rows(scope, head)),
            "## In the input",
            "",
            *_rows(EDITING),
            "",
        ]
    )


def _screen_rows(scope: str, head: str) -> list[str]:
    return [f"## {head}", "", *_rows(key for key in KEYS if key.scope == scope), ""]


def _rows(keys: Iterable[Key]) -> list[str]:
    head = ["| Key | What it does | When | Id |", "|---|---|---|---|"]
    return head + [
        f"| {display_all(key)} | {key.description} | {key.when or 'always'} | `{key.id}` |"
        for key in keys
    ]
