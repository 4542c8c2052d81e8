import base64

import pytest

from ollm_tui.decode.sse import ServerSentEvent, SSEDecoder
from tests.support.corpus import Case, case_id, load_cases, needs_corpus
from tests.support.cuts import ways_to_cut

pytestmark = needs_corpus


def run(chunks: list[bytes]) -> tuple[list[ServerSentEvent], int | None]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish(flush=False), decoder.retry


@pytest.mark.parametrize("case", load_cases("sse"), ids=case_id)
def test_event_streams_are_read_by_the_standard(case: Case) -> None:
    body = base64.b64decode(case["bytes"])
    chunked = [[base64.b64decode(chunk) for chunk in case["chunks"]]] if "chunks" in case else []
    for chunks in [*chunked, *ways_to_cut(body)]:
        events, retry = run(chunks)
        found = [{"event": e.event, "data": e.data, "id": e.id} for e in events]
        assert found == case["expected"]["events"]
        assert retry == case["expected"]["retry"]
