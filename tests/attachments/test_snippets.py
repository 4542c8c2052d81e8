"""Snippets in files, and what fills them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.attachments.snippets import SnippetFolder, filled
from ollm_tui.protocol.errors import AIError


@pytest.mark.parametrize(
    ("text", "arguments", "result"),
    [
        ("Review $ARGUMENTS.", "a b  c", "Review a b  c."),
        ("$1 before $2, not $10", "x 'y z'", "x before y z, not $10"),
        ("awk '{print $1}'", "", "awk '{print $1}'"),
        ("Hello {{name}} from {{ place }}", "place=Graz name='Ann Lee'", "Hello Ann Lee from Graz"),
        ("Hello {{name}} and {{other}}", "Ann", "Hello Ann and {{other}}"),
        ("Summarise this:\n", "it's long", "Summarise this:\n\nit's long"),
        ("{{a}} $ARGUMENTS", "a=$ARGUMENTS {{a}}", "$ARGUMENTS {{a}}"),
        ("{% if x %}{{ 7*7 }}{% endif %}", "", "{% if x %}{{ 7*7 }}{% endif %}"),
    ],
)
def test_placeholders_are_filled_once_and_nothing_is_rendered(
    text: str, arguments: str, result: str
) -> None:
    assert filled(text, arguments) == result


@given(st.text(), st.text())
def test_no_argument_is_lost(text: str, words: str) -> None:
    whole = filled(f"{text} $ARGUMENTS", words)
    named = "=" in words and "{{" in text
    assert words.strip() in whole or named


def test_names_lead_to_files_of_the_folder_alone(tmp_path: Path) -> None:
    folder = SnippetFolder(tmp_path / "snippets")
    assert folder.listed() == {}
    path = folder.write("greet", "Hello\nthere", replaces=False)
    assert path == tmp_path / "snippets" / "greet.md"
    assert folder.read("greet") == "Hello\nthere"
    (tmp_path / "snippets" / "not a name.md").write_text("x")
    (tmp_path / "snippets" / "broken.md").write_bytes(b"\xff")
    assert folder.listed() == {"broken": "it is not UTF-8 text", "greet": "Hello"}
    for name in ("../greet", "a/b", "", "a b", ".hidden"):
        with pytest.raises(AIError, match="letters, digits"):
            folder.read(name)
    with pytest.raises(AIError, match="already"):
        folder.write("greet", "other", replaces=False)
    with pytest.raises(AIError, match="not UTF-8"):
        folder.read("broken")
    folder.remove("greet")
    with pytest.raises(AIError, match="No snippet"):
        folder.read("greet")
