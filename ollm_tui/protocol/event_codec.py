"""Chat events as JSON-safe data and back: one event is one line of `ollm --json`."""

import base64
from typing import Literal, assert_never

from ollm_tui.protocol import chat_events as chat
from ollm_tui.protocol.codec import (
    bytes_from_base64,
    call_from_json,
    call_to_json,
    error_from_json,
    error_to_json,
    timings_from_json,
    timings_to_json,
    usage_from_json,
    usage_to_json,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.tools import ToolResult


def event_to_json(event: chat.ChatEvent) -> JsonObject:  # noqa: C901, PLR0911, PLR0912 -- one case per event
    """Return a chat event as data that carries `type`."""
    match event:
        case chat.TextDelta(delta=delta, turn=turn, block=block):
            return {"type": "text", "delta": delta, "turn": turn, "block": block}
        case chat.ThinkingDelta(delta=delta, turn=turn, block=block):
            return {"type": "thinking", "delta": delta, "turn": turn, "block": block}
        case chat.ToolCallStart():
            return {
                "type": "tool_call_start",
                "call": call_to_json(event.call),
                "turn": event.turn,
                "block": event.block,
            }
        case chat.ToolCallResult():
            return {
                "type": "tool_call_result",
                "call": call_to_json(event.call),
                "result": event.result.content,
                "is_error": event.result.is_error,
                "outcome": event.result.outcome,
                "turn": event.turn,
                "block": event.block,
            }
        case chat.ContextWarning():
            return {
                "type": "context_warning",
                "used": event.used,
                "limit": event.limit,
                "estimated": event.estimated,
                "turn": event.turn,
            }
        case chat.PicturesLeftOut(count=count, model=model, turn=turn):
            return {"type": "pictures_left_out", "count": count, "model": model, "turn": turn}
        case chat.Retrying():
            return _retrying_to_json(event)
        case chat.MediaDelta():
            return _media_to_json(event)
        case chat.NoAnswer(cause=cause, turn=turn):
            return {"type": "no_answer", "cause": cause, "turn": turn}
        case chat.TurnComplete():
            return {"type": "turn_complete", "turn_number": event.turn_number}
        case chat.Finish():
            return _finish_to_json(event)
        case chat.ErrorEvent():
            return {"type": "error", "error": error_to_json(event.error), "turn": event.turn}
        case _:
            assert_never(event)


def _retrying_to_json(event: chat.Retrying) -> JsonObject:
    body: JsonObject = {
        "type": "retrying",
        "attempt": event.attempt,
        "wait_s": event.wait_s,
        "error": error_to_json(event.error),
        "turn": event.turn,
    }
    return body if event.instead is None else body | {"instead": event.instead}


def _media_to_json(event: chat.MediaDelta) -> JsonObject:
    return {
        "type": "media",
        "modality": event.modality,
        "data": base64.b64encode(event.data).decode("ascii"),
        "step": event.step,
        "total_steps": event.total_steps,
        "turn": event.turn,
        "block": event.block,
    }


def _finish_to_json(event: chat.Finish) -> JsonObject:
    body: JsonObject = {"type": "finish", "reason": event.reason, "turn": event.turn}
    if event.usage is not None:
        body["usage"] = usage_to_json(event.usage)
    if event.timings is not None:
        body["timings"] = timings_to_json(event.timings)
    return body


def event_from_json(data: JsonMapping) -> chat.ChatEvent:  # noqa: C901, PLR0911, PLR0912 -- one case per event
    """Read what `event_to_json` wrote.

    Raises:
        AIError: BAD_REQUEST if the type is not known.
    """
    turn, block = _whole(data, "turn", 1), str(data.get("block", ""))
    match data.get("type"):
        case "text":
            return chat.TextDelta(delta=str(data.get("delta", "")), turn=turn, block=block)
        case "thinking":
            return chat.ThinkingDelta(delta=str(data.get("delta", "")), turn=turn, block=block)
        case "tool_call_start":
            call = call_from_json(_child(data, "call"))
            return chat.ToolCallStart(call=call, turn=turn, block=block)
        case "tool_call_result":
            return _result_from_json(data, turn, block)
        case "context_warning":
            return chat.ContextWarning(
                used=_whole(data, "used"),
                limit=_whole(data, "limit"),
                estimated=data.get("estimated") is True,
                turn=turn,
            )
        case "pictures_left_out":
            return chat.PicturesLeftOut(
                count=_whole(data, "count"), model=str(data.get("model", "")), turn=turn
            )
        case "retrying":
            return _retrying_from_json(data, turn)
        case "media":
            return _media_from_json(data, turn, block)
        case "no_answer":
            return chat.NoAnswer(cause=_cause(data), turn=turn)
        case "turn_complete":
            return chat.TurnComplete(turn_number=_whole(data, "turn_number", 1))
        case "finish":
            return _finish_from_json(data, turn)
        case "error":
            return chat.ErrorEvent(error=error_from_json(_child(data, "error")), turn=turn)
        case other:
            raise AIError(ErrorCode.BAD_REQUEST, f"There is no chat event of type {other!r}.")


def _whole(data: JsonMapping, key: str, default: int = 0) -> int:
    value = data.get(key)
    return value if isinstance(value, int) else default


def _child(data: JsonMapping, key: str) -> JsonObject:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _cause(data: JsonMapping) -> chat.NoAnswerCause:
    match data.get("cause"):
        case "thinking" | "calls" as cause:
            return cause
        case _:
            return "empty"


def _result_from_json(data: JsonMapping, turn: int, block: str) -> chat.ToolCallResult:
    call = call_from_json(_child(data, "call"))
    result = ToolResult(
        call_id=call.id,
        name=call.name,
        content=str(data.get("result", "")),
        is_error=data.get("is_error") is True,
        interruption=_interruption(data),
    )
    return chat.ToolCallResult(call=call, result=result, turn=turn, block=block)


def _interruption(data: JsonMapping) -> Literal["denied", "stopped"] | None:
    match data.get("outcome"):
        case "denied" | "stopped" as interruption:
            return interruption
        case _:
            return None


def _retrying_from_json(data: JsonMapping, turn: int) -> chat.Retrying:
    wait, instead = data.get("wait_s"), data.get("instead")
    return chat.Retrying(
        attempt=_whole(data, "attempt"),
        wait_s=float(wait) if isinstance(wait, int | float) else 0.0,
        error=error_from_json(_child(data, "error")),
        turn=turn,
        instead=instead if isinstance(instead, str) else None,
    )


def _media_from_json(data: JsonMapping, turn: int, block: str) -> chat.MediaDelta:
    step, total = data.get("step"), data.get("total_steps")
    return chat.MediaDelta(
        modality=str(data.get("modality", "")),
        data=bytes_from_base64(str(data.get("data", "")), "media"),
        step=step if isinstance(step, int) else None,
        total_steps=total if isinstance(total, int) else None,
        turn=turn,
        block=block,
    )


def _finish_from_json(data: JsonMapping, turn: int) -> chat.Finish:
    usage, timings = data.get("usage"), data.get("timings")
    return chat.Finish(
        reason=str(data.get("reason", "")),
        usage=usage_from_json(usage) if isinstance(usage, dict) else None,
        timings=timings_from_json(timings) if isinstance(timings, dict) else None,
        turn=turn,
    )
