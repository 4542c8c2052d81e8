"""The command line at servers that reply as real ones did."""

import json
from pathlib import Path

import pytest

from ollm_tui.cli import main
from tests.cli.conftest import Ollm
from tests.support.corpus import RecordedReply, Replay, load_replies, needs_corpus, replaying
from tests.support.http_server import in_thread

pytestmark = needs_corpus

REPLIES = {reply.id: reply for reply in load_replies()}
KINDS = {"/v1/chat/completions": "openai-compatible", "/v1/messages": "anthropic"}
CHATS = [reply for reply in REPLIES.values() if reply.request["path"] in KINDS]


def at(server: Replay, folder: Path, *arguments: str, kind: str = "openai-compatible") -> int:
    """Run one command with this server as the provider `real`."""
    with in_thread(server) as running:
        file = folder / "c.toml"
        file.write_text(f'[providers.real]\nkind = "{kind}"\nbase_url = "{running.url}"\n')
        return main(["--config", str(file), *arguments])


@pytest.mark.one_in(10)
@pytest.mark.parametrize("reply", CHATS, ids=lambda reply: reply.id)
def test_every_recorded_chat_is_printed_or_reported_to_have_failed(
    reply: RecordedReply,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ollm_tui.chat.turn.FIRST_WAIT_S", 0.001)
    kind = KINDS[reply.request["path"]]
    code = at(replaying(reply), tmp_path, "-p", "hello", "--model", "real://m", kind=kind)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    if reply.kind == "http_error":
        assert (code != 0, shown.out) == (True, "")
        assert shown.err.startswith("ollm: ")
        return
    expected = reply.meta.get("expected")
    if reply.kind == "stream" and expected:
        text = expected["text"].lstrip() if expected["thinking"] else expected["text"]
        assert shown.out.rstrip("\n") == text.rstrip("\n")
        assert (code == 0) == (expected["outcome"] == "complete" and bool(text.strip())), shown.err
        assert bool(shown.err) == (code != 0 or expected["finish"] == "length")
    else:
        assert shown.out or shown.err


def test_a_router_is_listed_with_its_sizes_and_keeps_files_of_its_folder(
    ollm: Ollm, tmp_path: Path
) -> None:
    folder = "llama-server-b10434"
    cases = ("router-models-loaded", "key-missing-models", "router-props", "router-delete")
    server = replaying(*(REPLIES[f"{folder}/{case}"] for case in cases))
    with in_thread(server) as running:
        listed = ollm("--host", running.url, "models", "list", "--json")
        removed = ollm("--host", running.url, "models", "rm", "--yes", "tiny-random")
    sizes = {
        one["name"]: (one["size_bytes"], one["quantization"]) for one in json.loads(listed.stdout)
    }
    assert sizes["tiny-random"] == (218368, "F16")
    assert removed.returncode != 0
    assert "tiny-random cannot be deleted from here." in removed.stderr
    assert not [one for one in server.asked if one.method == "DELETE"]


def test_doctor_is_not_content_with_an_open_list_where_a_key_is_missing(ollm: Ollm) -> None:
    folder = "llama-server-b10434"
    refusal = REPLIES[f"{folder}/key-missing-root-paths-version"]
    server = replaying(REPLIES[f"{folder}/key-missing-models"], other=refusal)
    with in_thread(server) as running:
        report = ollm("--host", running.url, "doctor").stdout
    assert "!! ollama: llama.cpp router" in report
    assert "llama.cpp router requires an API key" in report
    assert "-> Set api_key_env below [providers.local]." in report


def test_models_ps_of_vllm_names_what_it_was_started_with(ollm: Ollm) -> None:
    folder = "vllm-0.32.0"
    cases = ("models", "key-missing-root-paths-version")
    with in_thread(replaying(*(REPLIES[f"{folder}/{case}"] for case in cases))) as running:
        shown = ollm("--host", running.url, "models", "ps")
    assert "ollama://tiny-scripted" in shown.stdout
    assert "No model is loaded" not in shown.stderr
