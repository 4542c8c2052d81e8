"""Gaps in a text: by `/completions` with a suffix, and by llama.cpp's `/infill`."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from ollm_tui.decode.json_fields import integer, objects, string
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.request import Request
from ollm_tui.providers.answer_decoder import SSEAnswerDecoder
from ollm_tui.providers.base_url import join, server_root
from ollm_tui.providers.body.error_body import find_failure
from ollm_tui.providers.body.unsupported import OnLeftOut
from ollm_tui.providers.http_errors import stream_error
from ollm_tui.providers.media.inputs import VERBATIM, gap_of, infill_options
from ollm_tui.providers.openai_compatible.audio import explain_unknown_path
from ollm_tui.providers.openai_compatible.from_wire import read_timings, read_usage
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.transport import Transport

WHAT: Final = "infill"


def complete_gap(transport: Transport, request: Request) -> ProviderStream:
    """Stream the text between the input and its suffix by `/completions`.

    Raises:
        AIError: what cannot be sent.
    """
    prefix, suffix = gap_of(request)
    body: JsonObject = {
        "model": request.model,
        "prompt": prefix,
        "suffix": suffix,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= infill_options(request.options)
    return _stream(transport, "/completions", body, request)


def fill_gap(
    transport: Transport,
    request: Request,
    wait_until_ready: Callable[[AIError], Awaitable[bool]],
) -> ProviderStream:
    """Stream the text between the input and its suffix by llama.cpp's `/infill`.

    Raises:
        AIError: what cannot be sent.
    """
    prefix, suffix = gap_of(request)
    options = infill_options(request.options)
    if "max_tokens" in options:
        options["n_predict"] = options.pop("max_tokens")
    body: JsonObject = {
        "model": request.model,
        "input_prefix": prefix,
        "input_suffix": suffix,
        "stream": True,
    }
    path = join(server_root(transport.url), "/infill")
    return _stream(transport, path, body | options, request, wait_until_ready)


def _stream(
    transport: Transport,
    path: str,
    body: JsonObject,
    request: Request,
    wait_until_ready: Callable[[AIError], Awaitable[bool]] | None = None,
) -> ProviderStream:
    plan = RequestPlan(
        path=path,
        body=partial(_as_it_is, body),
        decoder=partial(InfillDecoder, transport.endpoint, VERBATIM),
        adapt=partial(explain_unknown_path, transport, WHAT),
        wait_until_ready=wait_until_ready,
    )
    return answer_stream(transport, plan, request.signal)


def _as_it_is(body: JsonObject, _on_left_out: OnLeftOut) -> JsonObject:
    return body


class InfillDecoder(SSEAnswerDecoder):
    """Reads the text of `/completions` and of llama.cpp's `/infill`."""

    def _read_object(self, value: JsonObject, event: str) -> None:
        self._builder.measure(read_usage(value) or _counted(value), read_timings(value))
        if failure := find_failure(value, event):
            self._builder.fail_without_retry(stream_error(failure, self._endpoint))
            return
        text = value.get("content")
        if isinstance(text, str):
            self._add(text)
            if value.get("stop") is True:
                is_limit = string(value, "stop_type") == "limit"
                self._reason = "length" if is_limit else "stop"
                self._complete()  # nothing marks the end but this
                return
        for choice in objects(value.get("choices"))[:1]:
            self._add(string(choice, "text") or "")
            self._reason = string(choice, "finish_reason") or self._reason

    def _add(self, text: str) -> None:
        self._saw_answer = True
        self._builder.add_text(text)


def _counted(value: JsonObject) -> Usage | None:
    """Read llama.cpp's counts, which stand in the last piece."""
    if value.get("stop") is not True:
        return None
    given, made = integer(value, "tokens_evaluated"), integer(value, "tokens_predicted")
    if given is None and made is None:
        return None
    return Usage(prompt_tokens=given, completion_tokens=made)
