"""What tells which models a family file is for is read as the parser of YAML reads it."""

import subprocess
import sys
from pathlib import Path

import pytest

from ollm_tui.config.yaml_file import parse_yaml
from ollm_tui.models.family_files import BUILT_IN
from ollm_tui.models.family_index import indexed_keys

HEAVY = ("yaml", "pydantic", "ollm_tui.models.family_schema")
AT = Path("family.yaml")


@pytest.mark.parametrize("path", sorted(BUILT_IN.glob("*.yaml")), ids=lambda path: path.stem)
def test_keys_of_built_in_files_are_those_of_the_whole_file(path: Path) -> None:
    text = path.read_text("utf-8")
    whole = parse_yaml(text, path).values
    indexed = indexed_keys(text, path)
    assert indexed == {key: whole[key] for key in indexed}
    # The first pattern that is found counts.
    assert list(indexed["modelPattern"]) == list(whole["modelPattern"])  # type: ignore[call-overload]
    left = {"_id", "priority", "type", "modelPattern"} & whole.keys() - indexed.keys()
    assert left == set()


@pytest.mark.parametrize(
    "text",
    [
        "_id: 'Some family'\nmodelPattern:\n  '@': !re /some/i\n",
        "_id: null\npriority: 010\nmodelPattern:\n  '@': some*\n",
        "_id: Some # a comment\nmodelPattern: {'@': !re /some/i}\n",
        'modelPattern:\n  "@": !re /some/i # another\n  large: "some-large"\n_id: Some\n',
        "_id: Some\n\n# none is there\nmodelPattern:\n",
        "_id: Some\nmodelPattern:\n    '@': !re /some thing/\n    a: !re '/so{1,2}me/'\n",
    ],
)
def test_keys_in_another_form_are_left_to_the_parser(text: str) -> None:
    assert indexed_keys(text, AT) == parse_yaml(text, AT).values


def test_a_model_without_a_family_needs_neither_parser_nor_schema() -> None:
    code = (
        "import sys\nfrom ollm_tui.models.known_models import KnownModels\n"
        "known = KnownModels().of(['unheard-of:latest'])\n"
        "assert known.family is None and len(known.steps) == 6, known\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
