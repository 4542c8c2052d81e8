"""Every sentence of the README is held by a test: none stands there that nothing would contradict.

A sentence that is changed must be entered anew, with the tests that hold it as it is now.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import NOT_THERE, CommandCall, parse
from ollm_tui.protocol.errors import AIError
from ollm_tui.shell.command import check_command

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
_BLOCK = re.compile(r"^```.*?^```\n|^!\[.*?\]\(.*?\)\n", re.MULTILINE | re.DOTALL)
_END = re.compile(r"(?<=[.:])\s+(?=[A-Z`0-9])")

HERE = "tests/docs/test_promises.py"
DOCS = "tests/docs/test_docs.py"
LINKS = f"{DOCS}::test_links_lead_to_files"
KEYS = f"{HERE}::test_the_keys_shown_are_those_of_the_app"
FIELDS = "tests/contract/test_every_field.py::test_nothing_that_is_asked_for_is_ignored"
STARTER = "tests/library/test_starter.py"
NEWCOMER = "tests/e2e/test_newcomer.py"
PROVIDERS = "tests/config/test_providers.py"
MODEL_ACTIONS = "tests/tui/models/test_actions.py"
APPROVE = "tests/tui/dialogs/test_approve_tool.py"

HELD: dict[str, tuple[str, ...]] = {
    "Chat with language models on your own": (
        "tests/e2e/test_servers.py::test_chatting_with_ollama",
        f"{NEWCOMER}::test_a_newcomer_chats_stops_a_long_answer_and_quits",
    ),
    "`ollm` is a full-screen chat for": (
        "tests/contract/test_every_adapter.py::test_every_class_of_adapters_is_in_the_table",
        "tests/e2e/test_servers.py::test_chatting_with_an_openai_compatible_server",
        f"{NEWCOMER}::test_the_starter_model_answers",
    ),
    "Answers stream as Markdown, Esc stops": (
        "tests/tui/painters/test_markdown.py::test_any_cutting_paints_the_same_rows",
        "tests/tui/chat/test_stopping.py::test_escape_stops_at_once_and_keeps_what_came",
        "tests/tui/models/test_screen.py::test_it_lists_every_model_of_every_provider",
    ),
    "No account, no sign-in, no cloud": (
        f"{HERE}::test_a_first_look_around_speaks_to_this_machine_alone",
        "tests/runtime/test_compose.py::"
        "test_a_key_makes_a_service_available_and_it_is_not_asked_unasked",
    ),
    "You need Python 3.11 or later": (f"{HERE}::test_the_package_gives_the_commands_and_extras",),
    "Clone this repository, then run:": (f"{DOCS}::test_make_targets_shown_exist",),
    "This creates a virtual environment in": (
        f"{HERE}::test_make_run_does_what_the_readme_says",
        f"{STARTER}::test_the_real_starter_is_the_published_one",
    ),
    "Later runs need no network.": (f"{STARTER}::test_a_second_run_does_nothing",),
    "The starter model is there so that you can chat": (
        "tests/tui/downloads/test_find_screen.py::"
        "test_a_machine_without_models_is_offered_the_starter_first",
    ),
    "For a better model, press F3": (
        KEYS,
        "tests/runtime/test_first_model.py::test_advice_fits_what_is_there",
    ),
    "To install the commands `ollm`": (f"{HERE}::test_the_package_gives_the_commands_and_extras",),
    "Without `[embedded]`, the program works": (
        "tests/providers/embedded/test_provider.py::"
        "test_without_the_engine_the_way_to_install_it_is_reported",
        f"{HERE}::test_the_package_gives_the_commands_and_extras",
    ),
    'With `".[embedded,images]"`, it shows': (
        f"{HERE}::test_the_package_gives_the_commands_and_extras",
        "tests/tui/painters/test_picture.py::test_the_space_is_there_before_the_picture",
    ),
    "| built-in engine (llama.cpp) |": (
        "tests/providers/embedded/test_supervisor.py::"
        "test_an_idle_model_is_unloaded_after_the_time_set",
        f"{NEWCOMER}::test_a_kill_leaves_no_engine_behind",
    ),
    "| Ollama |": ("tests/config/test_urls.py::test_ollama_host_means_what_it_means_to_ollama",),
    "| vLLM |": (f"{PROVIDERS}::test_variables_of_the_engines_configure_them",),
    "| LM Studio, LocalAI, KoboldCpp": (
        f"{PROVIDERS}::test_engines_with_a_usual_port_are_there_unasked_and_marked_so",
    ),
    "| OpenAI, Anthropic |": (
        "tests/runtime/test_compose.py::"
        "test_a_service_without_a_key_says_what_to_set_and_is_not_asked",
        "tests/runtime/test_compose.py::"
        "test_a_key_makes_a_service_available_and_it_is_not_asked_unasked",
    ),
    "| any OpenAI-compatible server |": (
        f"{PROVIDERS}::test_variables_of_the_engines_configure_them",
        LINKS,
    ),
    "Refer to a model as `provider://name`": (
        "tests/providers/test_router.py::"
        "test_an_address_goes_straight_to_its_provider_without_a_listing",
    ),
    "A bare name is looked up in all engines": (
        "tests/providers/test_router.py::test_a_bare_name_is_found_in_any_provider",
        "tests/providers/test_router.py::test_a_bare_name_is_never_looked_for_at_a_service",
    ),
    "F3 lists the models of all engines.": (
        "tests/tui/models/test_screen.py::test_it_lists_every_model_of_every_provider",
    ),
    "It shows what each one can do": (
        "tests/tui/models/test_screen.py::test_it_lists_every_model_of_every_provider",
        "tests/cli/test_models_shown.py::test_a_fit_is_a_verdict_with_its_numbers",
        "tests/tui/models/test_fit_check.py::"
        "test_the_built_in_engine_gets_no_graphics_card_that_it_does_not_use",
    ),
    "You can load, unload, copy and delete": (
        f"{MODEL_ACTIONS}::test_the_menu_does_what_is_chosen",
        f"{MODEL_ACTIONS}::test_the_details_show_the_model_and_what_is_chosen_there_is_done",
    ),
    "Press Ctrl+F in the list to find new": (
        "tests/cli/test_model_search.py::"
        "test_offline_no_server_is_asked_and_earlier_replies_are_found",
        "tests/tui/downloads/test_find_screen.py::"
        "test_what_is_typed_is_found_at_once_and_at_the_hub_after_a_pause",
    ),
    "You see which quantizations fit": (
        "tests/tui/downloads/test_variant_picker.py::"
        "test_each_quantization_has_its_size_and_verdict_and_one_is_recommended",
    ),
    "Downloads run in one queue": (
        "tests/library/downloads/test_queue.py::test_pause_stops_and_resume_goes_on",
    ),
    "It continues while you chat": (
        "tests/tui/downloads/test_in_chat.py::test_it_goes_on_beside_an_answer",
        "tests/library/downloads/test_kill.py::test_a_killed_download_is_gone_on_with",
    ),
    "See the guides on": (LINKS,),
    "| Enter / Ctrl+J |": (KEYS,),
    "| Esc |": (
        KEYS,
        "tests/tui/chat/test_stopping.py::test_escape_stops_at_once_and_keeps_what_came",
    ),
    "| Ctrl+L |": (KEYS,),
    "| F3 |": (KEYS,),
    "| Ctrl+R / Ctrl+N |": (KEYS,),
    "| Ctrl+G |": (KEYS,),
    "| Ctrl+P |": (KEYS,),
    "| Ctrl+F |": (KEYS,),
    "| Alt+Up |": (KEYS,),
    "| Ctrl+T |": (KEYS,),
    "| F1 |": (KEYS,),
    "With `--screen-reader` the chat is": (
        "tests/e2e/test_screen_reader_journey.py::test_a_journey_is_heard_line_by_line",
        LINKS,
    ),
    "Type `/` for commands": (
        "tests/commands/test_complete.py::test_a_slash_offers_every_command_with_its_help",
        "tests/tui/chat/test_shell_commands.py::"
        "test_a_command_is_asked_about_and_its_output_goes_to_the_model",
    ),
    "Ctrl+C never loses a draft": (
        f"{NEWCOMER}::test_ctrl_c_clears_the_draft_then_twice_leaves",
        "tests/tui/chat/test_stopping.py::"
        "test_control_c_stops_then_clears_then_quits_when_pressed_twice",
    ),
    "[Tools](docs/guides/tools.md) that you": (
        LINKS,
        "tests/tui/chat/test_acting.py::test_a_change_is_asked_about_refused_made_shown_and_taken_back",
        "tests/runtime/test_public.py::test_tools_that_only_the_settings_switch_on_need_an_approver",
        "tests/tui/chat/test_web_tools.py::test_a_page_is_asked_about_with_its_host_then_read",
        "tests/tui/chat/test_web_tools.py::test_a_search_is_asked_about_with_its_words",
        "tests/tui/chat/test_web_tools.py::test_code_is_shown_whole_in_colours_then_runs",
        "tests/tools/test_edit_notes.py::test_a_note_is_shown_as_a_difference_then_kept",
        "tests/tui/dialogs/test_asked_by_model.py::"
        "test_it_looks_like_no_approval_and_a_paused_typist_answers",
    ),
    "More tools come from": (
        LINKS,
        "tests/mcp/test_sdk_server.py::test_over_the_streams_of_a_program",
    ),
    "Only the answer goes to standard": (
        "tests/cli/test_run.py::test_the_answer_and_nothing_else_goes_to_standard_output",
    ),
    "Exit codes:": ("tests/cli/test_run.py::test_mistakes_are_one_line_and_a_stable_code",),
    "0 answered, 1 error or no answer": (
        "tests/cli/test_run.py::test_no_answer_is_one_line_an_event_and_an_exit_code",
        "tests/cli/test_run.py::test_mistakes_are_one_line_and_a_stable_code",
        "tests/cli/test_tools.py::test_an_approval_without_a_terminal_has_its_own_exit_code",
        "tests/cli/test_run.py::test_a_signal_keeps_the_text_leaves_the_server_and_gives_its_code",
    ),
    "More in [the guides]": (LINKS,),
    "Unsupported commands and options": (
        FIELDS,
        "tests/commands/test_parse.py::"
        "test_a_command_that_people_expect_is_refused_with_what_to_do_instead",
    ),
    "The following do not exist yet:": (f"{HERE}::test_what_is_reported_missing_is_missing",),
    "Commands and Python code of models on Windows": (
        f"{HERE}::test_commands_of_models_are_refused_on_windows",
    ),
    "Answers of several models": (f"{HERE}::test_what_is_reported_missing_is_missing",),
    "Changing the order of waiting messages, and a line": (
        "tests/linear/test_views.py::test_a_view_that_is_missing_is_refused_with_a_sentence",
    ),
    "Videos and music by the built-in engine": (FIELDS,),
    "Chat templates of a model family": (
        "tests/providers/embedded/test_templates.py::"
        "test_a_file_without_a_template_gets_that_of_its_family",
    ),
    "GPU support in the built-in engine": (
        "tests/library/test_machine_probe.py::"
        "test_a_graphics_card_counts_for_the_engine_only_where_the_engine_uses_it",
    ),
    "macOS and Windows are untested.": (
        f"{HERE}::test_every_sentence_is_held_by_tests_that_exist",
    ),
    "Ollama, vLLM, LM Studio, LocalAI, KoboldCpp, OpenAI": (
        "tests/providers/test_official_clients.py::"
        "test_the_official_openai_client_takes_every_backends_fake_for_a_server",
        "tests/library/hub/test_official_client.py::test_it_finds_the_repositories_by_downloads",
        "tests/providers/test_llamacpp_server.py::"
        "test_a_real_server_answers_lists_its_window_refuses_and_stops",
    ),
    "A truncated answer is never shown as complete.": (
        "tests/contract/test_cuts.py::test_a_connection_cut_at_some_bytes_is_reported_and_closed",
        "tests/contract/test_cuts.py::test_a_recording_cut_at_any_byte_is_reported_to_be_cut",
        "tests/cli/test_run.py::test_a_stream_that_breaks_keeps_its_text_and_exits_with_1",
    ),
    "No text from a model or server": (
        "tests/hostile/test_screen.py::"
        "test_a_hostile_session_prints_nothing_that_a_plain_one_does_not",
        "tests/hostile/test_exits.py::test_what_comes_out_is_plain_text",
        "tests/cli/test_models.py::test_no_word_of_a_server_drives_the_terminal",
    ),
    "Stopping works at once": (
        "tests/shell/test_jobs.py::test_nothing_outlives_this_program_however_it_ends",
        "tests/tui/chat/test_loop_control.py::test_commands_in_the_background_end_with_their_chat",
        "tests/contract/test_stops.py::test_an_answer_stopped_after_any_event_leaves_nothing",
        f"{NEWCOMER}::test_a_signal_in_the_middle_of_an_answer_leaves_nothing_behind",
        f"{NEWCOMER}::test_a_kill_leaves_no_engine_behind",
    ),
    "Your keys go only to the server": (
        "tests/hostile/test_planted_key.py::test_a_planted_key_stays_with_its_server",
        "tests/hostile/test_secrets.py::test_a_server_that_echoes_keys_gets_none_of_them_shown",
        "tests/cli/test_log_privacy.py::test_a_record_is_clean_and_tells_kinds_and_places_only",
    ),
    "A broken server, model file or": (
        "tests/contract/test_faults.py::test_a_fault_after_any_frame_is_reported_and_what_came_is_kept",
        "tests/library/test_gguf_bounds.py::"
        "test_thousands_of_mutated_headers_crash_and_hang_nothing",
        "tests/config/test_broken_files.py::test_the_first_frame_comes_whatever_the_file_holds",
    ),
    "No wrong or incomplete file": (
        "tests/library/downloads/test_faulty_transfers.py::"
        "test_faulty_transfers_end_in_the_right_file_or_none",
        f"{MODEL_ACTIONS}::test_deleting_names_what_and_where_and_no_is_the_default",
        "tests/cli/test_models.py::test_nothing_is_deleted_without_a_confirmation",
    ),
    "Your terminal is always restored.": (
        "tests/tui/terminal/test_driver.py::"
        "test_stopping_and_continuing_gives_the_terminal_back_and_takes_it_again",
        "tests/tui/test_crash.py::test_a_crash_shows_one_sentence_and_exits_with_one",
        f"{NEWCOMER}::test_a_signal_in_the_middle_of_an_answer_leaves_nothing_behind",
    ),
    "Saved messages are never lost": (
        "tests/store/test_kill.py::"
        "test_a_kill_loses_nothing_that_was_saved_and_a_moment_of_the_stream",
        "tests/store/kills/test_kills.py::test_a_kill_loses_nothing_that_was_done",
        "tests/store/test_backlog.py::test_writes_keep_their_distance",
    ),
    "No tool runs without your permission": (
        f"{APPROVE}::test_it_shows_every_argument_with_every_character",
        "tests/tui/dialogs/test_approve_tool_rows.py::test_what_was_not_shown_cannot_be_allowed",
        f"{APPROVE}::test_no_other_key_answers",
        "tests/chat/test_offer.py::test_a_call_outside_the_offer_is_answered_and_never_asked_about",
        "tests/tools/test_runner.py::test_a_tool_cannot_change_the_call_that_was_shown",
        "tests/tools/test_runner.py::test_no_id_runs_twice_not_even_at_once",
        "tests/tui/dialogs/test_permissions.py::test_a_new_chat_asks_for_everything",
    ),
    "A prompt never reaches a model or server": (
        "tests/runtime/test_named.py::test_what_was_named_and_cannot_be_asked_is_not_replaced",
        "tests/runtime/test_named.py::"
        "test_a_model_that_was_shown_is_not_replaced_by_a_file_of_its_name",
    ),
    "A connection with unread data": (
        "tests/providers/test_connections.py::test_what_is_left_over_is_not_the_next_answer",
        "tests/providers/test_connections.py::test_a_download_is_never_what_was_left_over",
    ),
    "When two windows write to one chat": (
        "tests/store/test_two_writers.py::"
        "test_nothing_that_was_reported_saved_to_two_programs_is_lost_or_hidden",
    ),
    "`make help` lists the targets.": (f"{DOCS}::test_make_targets_shown_exist",),
    "`make test` runs the tests in six": (
        f"{DOCS}::test_make_targets_shown_exist",
        f"{HERE}::test_make_run_does_what_the_readme_says",
    ),
    "For speed and comparisons, see": (LINKS,),
    "The map of the code is": (
        LINKS,
        "tests/docs/test_architecture.py::test_paths_exist",
        "tests/architecture/test_imports.py::"
        "test_the_vocabulary_and_the_decoders_load_the_standard_library_only",
    ),
    "MIT licence.": (f"{HERE}::test_the_package_gives_the_commands_and_extras",),
}
"""How each sentence begins, and the tests that hold it."""


def sentences(text: str) -> Iterator[str]:
    """Give the sentences of a page, its bullets and the rows of its tables, without code."""
    for block in re.split(r"\n\s*\n", _BLOCK.sub("", text)):
        stripped = block.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("|"):
            yield from stripped.splitlines()[2:]
        elif stripped.startswith("- "):
            for item in re.split(r"^- ", stripped, flags=re.MULTILINE)[1:]:
                yield " ".join(item.split())
        else:
            yield from _END.split(" ".join(stripped.split()))


SENTENCES = [*sentences(README)]


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_is_held_by_tests_that_exist(sentence: str) -> None:
    held = [tests for start, tests in HELD.items() if sentence.startswith(start)]
    assert len(held) == 1, "a sentence needs a test, or goes"
    assert held[0]
    for test in held[0]:
        path, _, name = test.partition("::")
        assert name in functions_of(path), test


def test_no_sentence_is_held_that_is_not_there() -> None:
    unused = [start for start in HELD if not any(one.startswith(start) for one in SENTENCES)]
    assert unused == []


def test_the_keys_shown_are_those_of_the_app() -> None:
    reference = (ROOT / "docs" / "reference" / "keys.md").read_text("utf-8")
    known = {
        key.strip()
        for row in re.findall(r"^\| ([^|]+) \|", reference, re.MULTILINE)
        for key in row.split(",")
    }
    rows = [row for row in SENTENCES if re.match(r"\| (Enter|Esc|Ctrl|Alt|F\d)", row)]
    shown = {key.strip() for row in rows for key in row.split("|")[1].split("/")}
    assert len(rows) == 11
    assert shown <= known


def test_make_run_does_what_the_readme_says() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^run:", makefile, re.MULTILINE)
    assert ".venv" in makefile
    assert re.search(r"^JOBS \?= 6$", makefile, re.MULTILINE)


def test_the_package_gives_the_commands_and_extras() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    for line in ('ollm = "', 'ollm-tui = "', "embedded = [", "images = ["):
        assert f"\n{line}" in text
    assert 'requires-python = ">=3.11"' in text
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License")


def test_commands_of_models_are_refused_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(AIError, match=r"Commands cannot be run on Windows yet\."):
        check_command("dir")


def test_what_is_reported_missing_is_missing() -> None:
    assert "compare" in NOT_THERE
    assert not isinstance(parse("/compare", COMMANDS), CommandCall)


LOOK_AROUND = """
import json, sys
met = []
def hook(event, args):
    if event == "socket.connect":
        met.append(args[1][0] if isinstance(args[1], tuple) else str(args[1]))
    elif event == "socket.getaddrinfo":
        met.append(args[0])
sys.addaudithook(hook)
from ollm_tui.cli import main
try:
    main(["models", "list"])
except SystemExit:
    pass
print("MET " + json.dumps([str(one) for one in met]))
"""


def test_a_first_look_around_speaks_to_this_machine_alone(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", LOOK_AROUND],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environ,
        cwd=ROOT,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("MET "))
    met = set(json.loads(line.removeprefix("MET ")))
    assert met, done.stderr
    assert met <= {"localhost", "127.0.0.1", "::1"}
