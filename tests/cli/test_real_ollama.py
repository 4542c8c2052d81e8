"""The command line beside the replies of a real Ollama."""

import pytest

from ollm_tui.cli import main
from tests.support.corpus import exchange
from tests.support.http_server import Handler, Received, Reply, in_thread

AROUND = {
    "/": "root",
    "/api/version": "version",
    "/api/tags": "tags",
    "/api/ps": "ps",
    "/api/show": "show-scripted",
    "/api/chat": "chat",
    "/api/pull": "pull",
}


def replaying(**others: str) -> Handler:
    """Answer each path as the server did; `chat="..."` names another reply for `/api/chat`."""
    names = AROUND | {f"/api/{end}": name for end, name in others.items()}

    async def answer(request: Received, reply: Reply) -> None:
        await exchange(names.get(request.path, "error-path")).replay(request, reply)

    return answer


def run(
    capsys: pytest.CaptureFixture[str], arguments: list[str], **others: str
) -> tuple[int, str, str]:
    with in_thread(replaying(**others)) as server:
        code = main([*arguments, "--host", server.url])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_list_tells_abilities_and_the_windows_of_loaded_models(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, ["models", "list"])
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert "chat tools " in rows["ollama://go-tool:latest"]
    assert "chat thinking " in rows["ollama://go-think:latest"]
    assert "chat  " in rows["ollama://scripted:latest"]
    assert "2048" in rows["ollama://par:latest"]
    assert "Q8_0" in rows["ollama://par:latest"]


def test_a_model_is_shown_with_what_its_template_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, ["models", "show", "scripted"])
    assert code == 0
    assert "vision no, tools yes, thinking yes" in out


def test_a_template_that_is_not_used_is_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, ["models", "show", "scripted"], show="show-rendered")
    assert code == 0
    assert "the engine does not use it; its renderer qwen3-coder writes the prompts" in out


def test_a_pull_from_a_registry_is_reported_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, ["models", "pull", "127.0.0.1:5000/library/tiny"])
    assert code == 0, out + err


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("chat", "Hello! I am a very small model"),
        ("chat-think", "The answer is **4**."),
        ("chat-go-think-off", "The answer is **4**."),
        ("chat-unicode", "Grüße"),
    ],
)
def test_an_answer_is_printed(reply: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["-p", "hi", "--model", "local://scripted:latest"]
    code, out, _ = run(capsys, arguments, chat=reply)
    assert (code, words in out, "<think>" in out) == (0, True, False)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("error-option-type", 'option "temperature" must be of type float32'),
        ("error-file-damaged", "delete the model and download it again"),
        ("overflow-history-refused", "exceeds the available context size (2048 tokens)"),
        ("killed-runner", "an error was encountered while running the model"),
        ("killed-server", "cut off"),
        ("chat-go-repeats", "the model repeated itself"),
    ],
)
def test_a_failure_is_one_sentence_and_no_second_request(
    reply: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["-p", "hi", "--model", "local://scripted:latest"]
    code, _, err = run(capsys, arguments, chat=reply)
    assert code == 1
    assert words in err
    assert "Trying again" not in err


def test_a_copy_with_a_name_that_no_model_can_have_says_what_a_name_looks_like(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run(capsys, ["models", "cp", "scripted", "a b"], copy="error-copy-name")
    assert code == 1
    assert err == (
        "ollm: The server does not accept the model name 'a b'. A name looks like NAME, USER/NAME"
        " or HOST/USER/NAME; a tag may follow after ':'. Start each part with a letter or a digit,"
        " then use letters, digits, '-', '_' and, except in USER, '.'.\n"
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("arguments", "replies"),
    [
        (["models", "pull"], {"pull": "error-pull-name"}),
        (["models", "load"], {"chat": "error-model-name"}),
        (["-p", "hi", "--model"], {"chat": "error-model-name", "show": "error-show-name"}),
    ],
)
@pytest.mark.parametrize(
    ("name", "is_too_long"),
    [
        ("n" * 81, True),
        ("x:" + "t" * 81, True),
        ("u" * 81 + "/x", True),
        ("u/" + "n" * 80 + ":" + "t" * 80, False),
        ("h" * 90 + "/u.u/x", False),
    ],
)
def test_a_name_that_is_too_long_is_reported(
    arguments: list[str],
    replies: dict[str, str],
    name: str,
    is_too_long: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = f"ollama://{name}" if "--model" in arguments else name
    code, _, err = run(capsys, [*arguments, named], **replies)
    assert code == 1
    if is_too_long:
        assert f"The model name '{name}' is too long." in err
        assert "at most 80 characters" in err
    else:
        assert f"The server does not accept the model name '{name}'." in err
        assert "USER/NAME" in err
