"""Servers that draw: stable-diffusion.cpp's with its jobs, and AUTOMATIC1111's web UI.

What they take and give is read off `examples/server` of leejet/stable-diffusion.cpp, and off
`modules/api` of AUTOMATIC1111/stable-diffusion-webui and `koboldcpp.py` of LostRuins/koboldcpp.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from tests.support.http_server import FakeServer, Received, Reply
from tests.support.picture_bytes import png
from tests.support.video_bytes import webm

SD_MODEL = {
    "title": "painter",
    "model_name": "painter",
    "hash": "8888888888",
    "sha256": "88",
    "filename": "painter.safetensors",
    "config": None,
}


def b64(width: int, height: int) -> str:
    return base64.b64encode(png(width, height)).decode()


def sd_pictures(path: str, body: Mapping[str, Any]) -> object:
    """Give black pictures: of the size that is wanted, and a pixel wider for each that is given."""
    given = [base64.b64decode(one, validate=True) for one in body.get("init_images", ())]
    given += [base64.b64decode(body["mask"], validate=True)] if body.get("mask") else []
    if path.endswith("img2img") != bool(given):
        return {"detail": "Init image not found"}, 404
    if body["prompt"] == "refused":
        return {"detail": "CUDA out of memory"}, 500
    if body["prompt"] == "nothing":
        return {"images": [""]}
    size = body.get("width", 3) + len(given), body.get("height", 2)
    return {"images": [b64(*size) for _ in range(body["batch_size"])], "parameters": body}


@dataclass
class FakeWebUI(FakeServer):
    """AUTOMATIC1111's web UI with `painter`; a drawing takes until `done` is set."""

    done: anyio.Event | None = None
    steps: list[int] = field(default_factory=lambda: [1, 2, 3])
    asked: anyio.Event = field(default_factory=anyio.Event)
    """Set once all steps were reported."""
    begun: anyio.Event = field(default_factory=anyio.Event)
    interrupted: int = 0

    async def answer(self, request: Received, reply: Reply) -> object:
        del reply
        match request.method, request.path:
            case "GET", "/sdapi/v1/sd-models":
                return [SD_MODEL]
            case "POST", "/sdapi/v1/txt2img" | "/sdapi/v1/img2img":
                self.begun.set()
                if self.done is not None:
                    await self.done.wait()
                return sd_pictures(request.path, request.json())
            case "GET", "/sdapi/v1/progress":
                step = self.steps.pop(0) if self.steps else 3
                if not self.steps:
                    self.asked.set()
                state = {"sampling_step": step, "sampling_steps": 20, "job_count": 1}
                picture = b64(1, 1) if step > 1 else None
                return {"progress": step / 20, "state": state, "current_image": picture}
            case "POST", "/sdapi/v1/interrupt":
                self.interrupted += 1
                return {}
        return {"detail": "Not Found"}, 404


@dataclass
class FakeSdCpp(FakeServer):
    """stable-diffusion.cpp's server: a job goes through `states`, once for each look at it."""

    states: tuple[str, ...] = ("queued", "generating", "completed")
    jobs: dict[str, tuple[list[str], Mapping[str, Any]]] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    modes: tuple[str, ...] = ("img_gen",)

    async def answer(self, request: Received, reply: Reply) -> object:
        del reply
        match request.method, request.path.split("/"):
            case "GET", ["", "v1", "models"]:
                return {"data": [{"id": "sd-cpp-local", "object": "model", "owned_by": "local"}]}
            case "GET", ["", "sdcpp", "v1", "capabilities"]:
                model = {"name": "painter.gguf", "stem": "painter", "path": "/m/painter.gguf"}
                return {"model": model, "supported_modes": list(self.modes)}
            case "POST", ["", "sdcpp", "v1", ("img_gen" | "vid_gen") as kind]:
                return self._submit(kind, request.json())
            case "GET", ["", "sdcpp", "v1", "jobs", job]:
                return self._job(job)
            case "POST", ["", "sdcpp", "v1", "jobs", job, "cancel"]:
                return self._cancel(job)
        return b"File Not Found", 404, "text/plain"

    def _submit(self, kind: str, body: Mapping[str, Any]) -> object:
        if not body.get("prompt"):
            return {"error": "prompt required"}, 400
        job = f"job_6f_{len(self.jobs) + 1:08}"
        self.jobs[job] = ([*self.states], body)
        head = {"id": job, "kind": kind, "status": "queued", "created": 1}
        return head | {"poll_url": f"/sdcpp/v1/jobs/{job}"}, 202

    def _job(self, job: str) -> object:
        if job not in self.jobs:
            return {"error": "job not found"}, 404
        states, body = self.jobs[job]
        status = states.pop(0) if len(states) > 1 else states[0]
        entry: dict[str, object] = {
            "id": job,
            "kind": "img_gen",
            "status": status,
            "created": 1,
            "started": None,
        }
        entry |= {"completed": None, "queue_position": int(status == "queued")}
        return entry | {"result": None, "error": None} | dict(self._end(status, body))

    def _end(self, status: str, body: Mapping[str, Any]) -> Mapping[str, object]:
        if status == "failed":
            message = "generate_image returned no results"
            return {"error": {"code": "generation_failed", "message": message}}
        if status != "completed":
            return {}
        if self.modes == ("vid_gen",):
            return {"result": self._video(body)}
        given = [base64.b64decode(one, validate=True) for one in body.get("ref_images", ())]
        given += [base64.b64decode(body["mask_image"])] if "mask_image" in body else []
        size = body.get("width", 3) + len(given), body.get("height", 2)
        count = body.get("batch_count", 1)
        images = [{"index": i, "b64_json": b64(size[0] + i, size[1])} for i in range(count)]
        return {"result": {"output_format": "png", "images": images[::-1]}}

    def _video(self, body: Mapping[str, Any]) -> Mapping[str, object]:
        frames, fps = body.get("video_frames", 33), body.get("fps", 16)
        video = webm(frames / fps, body.get("width", 64), body.get("height", 48))
        data = base64.b64encode(video).decode()
        kind = {"output_format": "webm", "mime_type": "video/webm"}
        return kind | {"fps": fps, "frame_count": frames, "b64_json": data}

    def _cancel(self, job: str) -> object:
        states, _ = self.jobs[job]
        if states[0] != "queued":
            return {"error": "job is currently generating and cannot be interrupted yet"}, 409
        self.cancelled.append(job)
        states[:] = ["cancelled"]
        return self._job(job)
