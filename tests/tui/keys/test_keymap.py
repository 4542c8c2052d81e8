"""The table of keys, a person's own keys in it, and the page made of it."""

from pathlib import Path
from typing import Literal

import pytest

from ollm_tui.tui.chat.screen import ChatScreen
from ollm_tui.tui.keys.key import display_key, short
from ollm_tui.tui.keys.keymap import Keymap, is_key, reference_page, with_overrides
from ollm_tui.tui.keys.reading import READING
from ollm_tui.tui.keys.table import EDITING, KEYS, SCREENS
from ollm_tui.tui.models.details import ModelDetailsScreen
from ollm_tui.tui.models.screen import ModelsScreen
from ollm_tui.tui.transcript.message_cursor import CaretMode, CursorMode

MODES = {"cursor": CursorMode, "caret": CaretMode}
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "keys.md"


def test_ids_are_unique_and_nothing_shares_a_key() -> None:
    assert len({key.id for key in KEYS}) == len(KEYS)
    # Esc closes the suggestions when no answer is there to stop; Ctrl+O unfolds a pasted text
    # where the cursor is on one; Ctrl+D deletes unless the input is empty; a search has the focus
    # when it takes its keys; a dictation takes its own before all.
    elsewhere = {"dictation", "find", "cursor", "caret", *SCREENS}
    listed = [key for key in (*KEYS, *EDITING) if key.scope not in elsewhere]
    taken = [name for key in listed for name in key.keys.split(",")]
    assert {name for name in taken if taken.count(name) > 1} == {"escape", "ctrl+o", "ctrl+d"}
    searching = [name for key in KEYS if key.scope == "find" for name in key.keys.split(",")]
    assert len(set(searching)) == len(searching)
    assert {key.id for key in KEYS if key.scope == "chat" and key.keys in searching} == {
        "chat.stop",
        "chat.back",
    }


@pytest.mark.parametrize("scope", ["cursor", "caret"])
def test_a_key_means_one_thing_while_the_cursor_is_in_the_chat(
    scope: Literal["cursor", "caret"],
) -> None:
    own = [key for key in READING if key.scope == scope]
    actions = Keymap().actions(scope)
    assert len(actions) == sum(len(key.keys.split(",")) for key in own)
    for action in actions.values():
        mode, _, name = action.partition("(")[0].partition("_")
        assert hasattr(MODES[mode], f"action_{name}"), action


def test_the_screen_gives_up_the_keys_that_mean_something_else_in_the_messages() -> None:
    assert "stop" in Keymap().yielded_to("cursor")
    assert "scroll_page" not in Keymap().yielded_to("cursor")
    moved = with_overrides({"chat.stop": "f12"})
    assert "stop" not in moved.yielded_to("cursor")
    assert moved.problems == ()


def test_a_key_is_shared_only_with_what_is_active_at_the_same_time() -> None:
    assert with_overrides({"cursor.copy": "h"}).problems == ()
    assert with_overrides({"chat.models": "f4", "cursor.copy": "g"}).problems == ()
    (problem,) = with_overrides({"cursor.copy": "ctrl+p"}).problems
    assert "chat.palette and cursor.copy" in problem


def test_every_binding_has_an_action_that_the_screen_has() -> None:
    for binding in Keymap().bindings("chat", "find"):
        assert binding.description
        assert hasattr(ChatScreen, f"action_{binding.action.partition('(')[0]}"), binding.id


def test_the_keys_of_the_models_screen_have_actions_and_mean_one_thing() -> None:
    own = [key for key in KEYS if key.scope == "models"]
    names = [name for key in own for name in key.keys.split(",")]
    assert len(set(names)) == len(names)
    for binding in Keymap().bindings("models"):
        assert hasattr(ModelsScreen, f"action_{binding.action.partition('(')[0]}"), binding.id
    # letters belong to the filter
    assert not [name for name in names if len(name) == 1]


def test_a_screen_of_its_own_shares_keys_with_the_chat_but_not_within_itself() -> None:
    assert with_overrides({"models.delete": "ctrl+l"}).problems == ()
    (problem,) = with_overrides({"models.delete": "f9"}).problems
    assert "models.delete and models.copy" in problem


def test_the_keys_of_the_details_have_actions_and_mean_one_thing() -> None:
    own = [key for key in KEYS if key.scope == "details"]
    names = [name for key in own for name in key.keys.split(",")]
    assert len(set(names)) == len(names)
    for binding in Keymap().bindings("details"):
        assert hasattr(ModelDetailsScreen, f"action_{binding.action.partition('(')[0]}"), binding.id
    assert with_overrides({"details.copy": "ctrl+l"}).problems == ()
    (problem,) = with_overrides({"details.copy": "n"}).problems
    assert "details.copy and details.find_next" in problem


def test_no_key_is_one_that_terminals_take_for_themselves() -> None:
    taken = {f"ctrl+{letter}" for letter in "imhsqba"}
    assert not taken & {name for key in KEYS for name in key.keys.split(",")}


def test_a_person_can_move_an_action_to_another_key() -> None:
    keymap = with_overrides({"chat.models": "f4"})
    assert keymap.key_for("chat.models") == "F4"
    assert keymap.problems == ()


def test_an_unknown_id_is_a_sentence() -> None:
    assert with_overrides({"chat.model": "f4"}).problems == (
        "[keymap] has no action named chat.model. Did you mean chat.models?",
    )


def test_a_key_given_twice_is_a_sentence() -> None:
    (problem,) = with_overrides({"chat.models": "ctrl+n"}).problems
    assert "Ctrl+N" in problem
    assert "chat.new" in problem
    assert "chat.models" in problem


def test_a_search_and_the_input_may_share_a_key_but_the_screen_may_not() -> None:
    assert with_overrides({"find.older": "up", "find.newer": "enter"}).problems == ()
    (problem,) = with_overrides({"find.older": "ctrl+l"}).problems
    assert "find.older" in problem
    assert "chat.models" in problem


def test_keys_are_written_as_people_do() -> None:
    assert display_key("ctrl+l") == "Ctrl+L"
    assert display_key("question_mark") == "?"
    assert display_key("shift+pageup") == "Shift+PgUp"
    assert display_key("less_than_sign") == "<"
    assert display_key("right_square_bracket") == "]"
    assert display_key("ctrl+comma") == "Ctrl+,"
    assert display_key("ctrl+underscore") == "Ctrl+_"
    assert (short("ctrl+l"), short("f1"), short("escape")) == ("^L", "F1", "Esc")


def test_the_reference_page_is_the_table() -> None:
    assert PAGE.read_text("utf-8") == reference_page(), (
        "docs/reference/keys.md is not what ollm_tui/tui/keys/table.py says: write reference_page()"
    )


def test_every_key_of_the_table_is_one_that_can_be_chosen() -> None:
    for key in (*KEYS, *EDITING):
        assert all(map(is_key, key.keys.split(","))), key.keys
    for key in KEYS:
        assert with_overrides({key.id: key.keys}).problems == (), key.id


def test_what_is_refused_leaves_an_action_its_own_key() -> None:
    keymap = with_overrides({"chat.models": "ctrl+o", "chat.new": "ctlr+x", "chat.chats": "f12"})
    assert keymap.key_for("chat.models") == "Ctrl+L"
    assert keymap.key_for("chat.new") == "Ctrl+N"
    assert keymap.chosen == {"chat.chats": "f12"}
    assert {refused.id for refused in keymap.refused} == {"chat.models", "chat.new"}


def test_two_actions_can_change_their_keys() -> None:
    keymap = with_overrides({"chat.models": "ctrl+n", "chat.new": "ctrl+l"})
    assert keymap.problems == ()
    # Without the one the other has none that is free.
    broken = with_overrides({"chat.models": "ctrl+n", "chat.new": "ctrl+ll"})
    assert broken.chosen == {}
    assert len(broken.refused) == 2
