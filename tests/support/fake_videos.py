"""What servers make beside pictures: videos as jobs and at once, music, and text in a gap.

Their forms are read off OpenAI's client, the documentation of vLLM-Omni, and `core/http` of
mudler/LocalAI.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_server import Reply
from tests.support.video_bytes import mp4

NO_MODEL = {"error": {"message": "Not a video model", "type": "invalid_request_error"}}, 400


@dataclass
class VideoJobs:
    """The jobs at `/v1/videos`; each goes through `states`, one for each look at it."""

    states: tuple[str, ...] = ("queued", "in_progress", "completed")
    jobs: dict[str, list[str]] = field(default_factory=dict)
    sent: list[Mapping[str, Any]] = field(default_factory=list)
    """The fields of each form."""
    deleted: list[str] = field(default_factory=list)
    result: bytes = field(default_factory=mp4)

    def submit(self, parts: Sequence[tuple[str, str | None, bytes]]) -> object:
        fields = {name: data if file else data.decode() for name, file, data in parts}
        if fields.get("model") != "film":
            return NO_MODEL
        self.sent.append(fields)
        job = f"video_{len(self.jobs) + 1}"
        self.jobs[job] = [*self.states]
        return self._entry(job, "queued", fields)

    def answer(self, method: str, path: Sequence[str]) -> object:
        """Answer a request to a job."""
        job, *more = path
        if job not in self.jobs:
            return {"error": {"message": "Video not found", "type": "invalid_request_error"}}, 404
        match method, more:
            case "GET", []:
                states = self.jobs[job]
                return self._entry(job, states.pop(0) if len(states) > 1 else states[0], {})
            case "GET", ["content"]:
                return self.result, 200, "video/mp4"
            case "DELETE", []:
                del self.jobs[job]
                self.deleted.append(job)
                return {"id": job, "deleted": True, "object": "video.deleted"}
        return b"", 405

    def _entry(self, job: str, status: str, fields: Mapping[str, object]) -> object:
        entry = {"id": job, "object": "video", "created_at": 1, "status": status}
        entry |= {"model": "film", "progress": {"in_progress": 40, "completed": 100}.get(status, 0)}
        entry |= {"seconds": fields.get("seconds", "4"), "size": fields.get("size", "720x1280")}
        failed = {"code": "generation_failed", "message": "out of memory"}
        return entry | {"error": failed if status == "failed" else None}


def local_video(body: Mapping[str, Any]) -> object:
    """Answer LocalAI's `/video`: a video as long and as large as is asked for."""
    if body.get("model") != "film":
        return NO_MODEL
    prompt = str(body["prompt"])
    if "://" in prompt or prompt.startswith("/"):
        return {"id": "1", "created": 1, "data": [{"url": prompt}]}
    seconds = body.get("num_frames", 32) / body.get("fps", 16)
    video = mp4(seconds, body.get("width", 64), body.get("height", 48))
    return {"created": 1, "data": [{"b64_json": base64.b64encode(video).decode()}]}


async def music(body: Mapping[str, object], reply: Reply) -> object:
    """Answer `/v1/sound-generation`: a sound that holds the text and the length."""
    if body.get("model_id") != "band":
        return {"error": {"message": "Not a music model", "type": "invalid_request_error"}}, 400
    await reply.start(content_type="audio/wav")
    await reply.write(b"RIFF\0\0\0\0WAVE")
    await reply.write(f"{body['text']}:{body.get('duration_seconds')}".encode())
    return None


def middle(prefix: object, suffix: object) -> str:
    """Return what the fakes put into a gap, white space at both ends included."""
    return f"\n  <{len(str(prefix))}|{len(str(suffix))}>\n"


async def completion(body: Mapping[str, Any], reply: Reply) -> object:
    """Answer `/v1/completions` with a suffix, as a stream of two pieces."""
    if body.get("model") != "tiny" or not body.get("stream"):
        return {"error": {"message": "The model does not exist", "code": "model_not_found"}}, 404
    text = middle(body["prompt"], body["suffix"])
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "tiny"}
    pieces: list[dict[str, object]] = [
        {"index": 0, "text": text[:4], "finish_reason": None, "logprobs": None},
        {"index": 0, "text": text[4:], "finish_reason": "stop", "logprobs": None},
    ]
    events: list[object] = [head | {"choices": [piece]} for piece in pieces]
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    await stream(reply, [*events, head | {"choices": [], "usage": usage}, None])
    return None


async def llamacpp_infill(body: Mapping[str, Any], reply: Reply) -> object:
    """Answer llama.cpp's `/infill`."""
    text = middle(body["input_prefix"], body["input_suffix"])
    last = {"content": "", "stop": True, "stop_type": "limit" if body.get("n_predict") else "eos"}
    last |= {"tokens_evaluated": 5, "tokens_predicted": 2}
    pieces = [{"index": 0, "content": part, "stop": False} for part in (text[:4], text[4:])]
    await stream(reply, [*pieces, last])
    return None


async def stream(reply: Reply, events: Sequence[object]) -> None:
    """Send server-sent events; None is the end mark of OpenAI."""
    await reply.start(content_type="text/event-stream")
    for event in events:
        data = "[DONE]" if event is None else json.dumps(event)
        await reply.write(f"data: {data}\n\n".encode())
