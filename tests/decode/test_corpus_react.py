"""Every recorded ReAct turn; where the corpus accepts several outcomes, the one that was chosen."""

import pytest

from ollm_tui.decode.react_call import first_loose_object, loose_object
from tests.decode.react import read
from tests.support.corpus import Case, case_id, load_cases, load_file, needs_corpus
from tests.support.cuts import ways_to_cut

pytestmark = needs_corpus

# Where the source names more than one outcome: what happens here.
CHOSEN = {
    "mop-neither": "final",
    "structured-plain-fence": "action",
    "lli-extra-after-action": "action",
    "lli-python-dict-comment": "invalid_json_error",
    "lli-answer-multiline": "final",
    "crew-asterisks-json": "action",
    "crew-fabricated": "action",
    "own-fenced-json": "action",
}
MENDED = {
    "repair-extra-comma",
    "repair-single-quotes",
    "repair-mixed-quotes",
    "repair-trailing-text",
    "repair-raw-newline",
}


@pytest.mark.parametrize("case", load_cases("react"), ids=case_id)
def test_a_turn_is_read_as_the_source_says(case: Case) -> None:
    expected = case["expected"]
    outcome = CHOSEN.get(case["id"], expected["kind"])
    assert outcome in {expected["kind"], *case.get("alternatives", ())}
    for chunks in ways_to_cut(case["text"]):
        turn = read(chunks)
        if outcome == "error":
            assert turn.problem == expected["error"]
            assert turn.call is None
        elif outcome == "final":
            answer = expected.get("final_answer") or case["text"]
            assert (turn.answer, turn.call, turn.problem) == (answer.strip(), None, None)
        else:
            wanted: Case = case.get("if_action") or expected
            assert turn.call is not None
            assert turn.call.name == wanted["action"]
            inputs = [wanted["action_input"], *case.get("alternatives_input", ())]
            assert turn.call.raw_input in inputs
            if "json_ok" in expected:
                assert turn.call.args == expected.get("action_input_json")
                assert (turn.problem == "bad_input") == (not expected["json_ok"])
        if "thought" in expected and outcome == expected["kind"]:
            assert turn.thought == (expected["thought"] or "").strip()


@pytest.mark.parametrize("case", load_file("react").get("repair", ()), ids=case_id)
def test_only_what_leaves_no_doubt_is_mended(case: Case) -> None:
    found = first_loose_object(case["input"])
    value = loose_object(found) if found else None
    if case["id"] in MENDED:
        assert value in case.get("expected_alternatives", [case.get("expected")])
    else:
        assert value is None
