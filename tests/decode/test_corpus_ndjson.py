import base64
import json

import pytest

from ollm_tui.decode.lines import BadLine, NDJSONDecoder, NDJSONItem
from tests.support.corpus import Case, case_id, load_cases, load_file, needs_corpus
from tests.support.cuts import ways_to_cut

pytestmark = needs_corpus


def run(chunks: list[bytes]) -> list[NDJSONItem]:
    decoder = NDJSONDecoder()
    items = [item for chunk in chunks for item in decoder.feed(chunk)]
    return items + decoder.finish()


@pytest.mark.parametrize("case", load_cases("ndjson"), ids=case_id)
def test_a_line_of_any_kind_leaves_its_neighbours_alone(case: Case) -> None:
    whole_file = load_file("ndjson")
    before, after = whole_file["good_before"], whole_file["good_after"]
    line = base64.b64decode(case["line"])
    body = b"\n".join([before.encode(), line, after.encode(), b""])
    for chunks in ways_to_cut(body):
        first, *middle, last = run(chunks)
        assert first == json.loads(before)
        assert last == json.loads(after)
        check_middle(case, middle)


def check_middle(case: Case, middle: list[NDJSONItem]) -> None:
    match case["cls"]:
        case "blank":
            assert middle == []
        case "invalid":
            assert middle
            assert all(isinstance(item, BadLine) for item in middle)
        case "valid" if case["top_level"] == "object":
            assert middle == [case["value"]]
        case "valid":
            assert [type(item) for item in middle] == [BadLine]
        case "either":
            assert len(middle) == 1
