"""`ollm models prompt`: the exact prompt on standard output, and where it is from beside it."""

import json

from tests.cli.conftest import Run


def test_the_prompt_alone_is_on_standard_output(models: Run) -> None:
    code, out, err = models("prompt", "tiny:latest", "Who", "are", "you?")
    assert code == 0
    assert out == "<user>Who are you?\n<assistant>\n"
    assert "This is the text that Ollama makes of the chat." in err


def test_as_json_it_has_its_parts_and_where_it_is_from(models: Run) -> None:
    code, out, _ = models("prompt", "tiny:latest", "hi", "--json")
    shown = json.loads(out)
    assert (code, shown["origin"], shown["text"]) == (0, "engine", "<user>hi\n<assistant>")
    assert [part["role"] for part in shown["parts"]] == ["template", "user", "template"]
    assert shown["tokens"] is None
    assert shown["notes"]


def test_a_model_that_is_not_there_is_an_error(models: Run) -> None:
    code, out, err = models("prompt", "absent", "hi")
    assert (code, out) == (1, "")
    assert "absent" in err
