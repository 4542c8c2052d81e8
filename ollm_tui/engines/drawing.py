"""Drawing by stable-diffusion.cpp, in the package cyllama.

The data of a job are its texts and pictures one after another; the field `parts` names each with
its length: `prompt`, `negative_prompt`, `picture`, `reference`, `mask`. Pieces are pictures: those
with a `step` are previews of one that is not finished.
"""

import os
import random
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.engines.host import Instructions, Job, JobError, Result, file_in_memory, serve
from ollm_tui.engines.speech import number_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]

FILES: Final[Mapping[str, str]] = {
    "diffusion_model": "diffusion_model_path",
    "vae": "vae_path",
    "clip_l": "clip_l_path",
    "clip_g": "clip_g_path",
    "t5xxl": "t5xxl_path",
    "llm": "llm_path",
    "taesd": "taesd_path",
}
"""Files by what they are for, and their names in the package."""
STEP: Final = 64
"""Width and height are multiples of it: each model takes those."""
MIN_SIDE, MAX_SIDE, MAX_PIXELS = 64, 4096, 4096 * 1024
MAX_STEPS, MAX_PICTURES = 1000, 16
MAX_SEED: Final = 2**63 - 1
PREVIEW_S: Final = 0.5
"""How often a preview is sent, at most."""
PREVIEW_PIXELS: Final = 512
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_ERROR: Final = 4
_UNKNOWN: Final = "get sd version from file failed"


class Drawing:
    """Draws with one model."""

    def __init__(self, context: Any, log: "Log", options: Mapping[str, Any]) -> None:
        self._context = context
        self._log = log
        self._options = options

    def run(self, job: Job) -> Result:
        """Draw the pictures of a job; each is a piece."""
        given = {**self._options, **job.fields}
        parts = _parts(job)
        seed = given.get("seed")
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            seed = random.SystemRandom().randrange(2**31)
        count = int(number_of(given, "count", 1, 1, MAX_PICTURES))
        wish = self._wish(given, parts)
        for number in range(count):
            one = min(seed + number, MAX_SEED)
            picture = self._drawn(job, wish, one, number, count)
            height, width = picture.shape[:2]
            job.piece(png_of(picture), index=number, seed=one, width=width, height=height)
        return Result({"seed": seed})

    def _wish(self, given: Mapping[str, Any], parts: "Parts") -> Any:
        """Return the parameters of one picture, but for its seed."""
        # Loaded with the model.
        from cyllama import sd

        width, height = _size(given, parts)
        wish = sd.SDImageGenParams(prompt=parts.text("prompt"))
        wish.negative_prompt = parts.text("negative_prompt") or str(
            given.get("negative_prompt") or ""
        )
        wish.width, wish.height, wish.batch_count = width, height, 1
        wish.strength = number_of(given, "strength", 0.75, 0.0, 1.0)
        sampling = wish.sample_params
        sampling.sample_steps = int(number_of(given, "steps", 20, 1, MAX_STEPS))
        sampling.cfg_scale = number_of(given, "cfg_scale", 7.0, 0.0, 100.0)
        sampling.distilled_guidance = number_of(given, "guidance", 3.5, 0.0, 100.0)
        if (sampler := _named(given, "sampler", sd.SampleMethod)) is not None:
            sampling.sample_method = sampler
        if (scheduler := _named(given, "scheduler", sd.Scheduler)) is not None:
            sampling.scheduler = scheduler
        if parts.pictures:
            wish.set_init_image(_image(_fitted(parts.pictures[0], width, height)))
        if parts.mask is not None:
            wish.set_mask_image(_image(_fitted(parts.mask, width, height)[:, :, :1]))
        if parts.references:
            wish.set_ref_images([_image(one) for one in parts.references])
        return wish

    def _drawn(self, job: Job, wish: Any, seed: int, number: int, count: int) -> "Pixels":
        """Draw one picture."""
        # As in `_wish`.
        from cyllama import sd

        job.check()
        wish.seed = seed
        watch = _Watch(job, self._context, wish, number, count)
        job.on_cancel(watch.cancel)
        sd.set_progress_callback(watch.progress)
        mode = sd.PreviewMode.TAE if self._options.get("has_taesd") else sd.PreviewMode.PROJ
        sd.set_preview_callback(watch.preview, mode=mode, interval=1)
        self._log.clear()
        try:
            (image,) = self._context.generate_with_params(wish)
        except (RuntimeError, ValueError) as error:
            job.check()
            raise RuntimeError(self._log.reason or str(error)) from error
        job.check()
        return _pixels(image)


class _Watch:
    """Reports the steps of one picture, and stops it."""

    def __init__(self, job: Job, context: Any, wish: Any, number: int, count: int) -> None:
        self._job = job
        self._context = context
        self._widest = min(int(wish.width), PREVIEW_PIXELS)
        self._max_steps = int(wish.sample_params.sample_steps)
        self._number = number
        self._count = count
        self._step = self._steps = 0
        self._shown_at = time.monotonic()

    def cancel(self) -> None:
        """Stop the picture; a stop that comes before its first step is lost, and repeated then."""
        # As in `Drawing._wish`.
        from cyllama import sd

        self._context.cancel(sd.CancelMode.ALL)

    def progress(self, step: int, steps: int, _seconds: float) -> None:
        """Take note of a step; reading the weights and decoding count in other units."""
        if self._job.is_cancelled:
            self.cancel()
        elif step == self._step + 1 and steps <= self._max_steps and self._steps in (0, steps):
            self._step, self._steps = step, steps
            self._job.progress(self._number * steps + step, self._count * steps)

    def preview(self, step: int, frames: Sequence[Any], _is_noisy: bool) -> None:
        """Send what there is of the picture."""
        now = time.monotonic()
        if self._job.is_cancelled or now - self._shown_at < PREVIEW_S or not self._steps:
            return
        pixels = _pixels(frames[0])
        times = max(1, self._widest // pixels.shape[1])
        data = png_of(pixels.repeat(times, axis=0).repeat(times, axis=1), level=1)
        done = self._number * self._steps + step
        self._job.piece(data, step=done, total=self._count * self._steps)
        self._shown_at = time.monotonic()


class Log:
    """What the engine writes: all of it goes to the log, and the last error is kept."""

    def __init__(self) -> None:
        self.reason = ""

    def clear(self) -> None:
        """Forget the last error."""
        self.reason = ""

    def take(self, level: int, text: str) -> None:
        """Keep an error, without the line of the engine's source."""
        if level >= _ERROR:
            self.reason = text.partition(" - ")[2].strip() or text.strip()
            os.write(2, text.encode(errors="replace"))


class Parts:
    """The texts and pictures of a job."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.pictures: list[Pixels] = []
        self.references: list[Pixels] = []
        self.mask: Pixels | None = None

    def text(self, name: str) -> str:
        """Return a text; an empty one if it is missing."""
        return self._texts.get(name, "")

    def add(self, name: str, data: bytes) -> None:
        """Add a part.

        Raises:
            JobError: a picture cannot be read.
        """
        match name:
            case "picture":
                self.pictures.append(_decoded(data))
            case "reference":
                self.references.append(_decoded(data))
            case "mask":
                self.mask = _decoded(data)
            case _:
                self._texts[name] = data.decode(errors="replace")


def _parts(job: Job) -> Parts:
    parts, at = Parts(), 0
    for name, length in job.fields["parts"]:
        parts.add(name, job.data[at : at + length])
        at += length
    return parts


def _size(given: Mapping[str, Any], parts: Parts) -> tuple[int, int]:
    """Return the width and height: those asked for, else the picture's, else the model's usual."""
    width, height = given.get("width"), given.get("height")
    if not width or not height:
        like = next(iter((*parts.pictures, *parts.references)), None)
        usual = int(number_of(given, "usual_size", 512, MIN_SIDE, MAX_SIDE))
        width, height = (usual, usual) if like is None else _within(like, usual)
    width, height = (max(MIN_SIDE, -(-int(one) // STEP) * STEP) for one in (width, height))
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        raise JobError(
            f"A picture of {width}x{height} is too large.",
            f"The built-in engine draws up to {MAX_SIDE} pixels a side and {MAX_PIXELS:,} in all.",
            code="BAD_REQUEST",
        )
    if given.get("is_square") and width != height:
        raise JobError(
            "This model draws squares only.", "Ask for a size such as 512x512.", code="BAD_REQUEST"
        )
    return width, height


def _within(picture: "Pixels", usual: int) -> tuple[int, int]:
    """Return a picture's size, made smaller where it has more pixels than the model is used to."""
    height, width = picture.shape[:2]
    factor = min(1.0, (usual * usual / (width * height)) ** 0.5)
    return round(width * factor), round(height * factor)


def _named(given: Mapping[str, Any], key: str, names: Any) -> Any:
    """Return the value of an enumeration that an option names; None if it is not set."""
    wanted = given.get(key)
    if wanted is None:
        return None
    known = {name.lower(): one for name, one in names.__members__.items() if name != "COUNT"}
    if str(wanted).lower() not in known:
        raise JobError(
            f"The engine has no {key} {str(wanted)[:40]}.",
            f"It has: {', '.join(known)}.",
            code="BAD_REQUEST",
        )
    return known[str(wanted).lower()]


def _decoded(data: bytes) -> "Pixels":
    """Return the pixels of a PNG or JPEG file."""
    # As in `Drawing._wish`.
    from cyllama import sd

    with file_in_memory(data) as path:
        try:
            return _pixels(sd.SDImage.load(path, 3))
        except (RuntimeError, ValueError, OSError) as error:
            raise JobError(
                "A picture cannot be read.", "Use a PNG or JPEG file.", code="BAD_REQUEST"
            ) from error


def _pixels(image: Any) -> "Pixels":
    # As in `Drawing._wish`.
    import numpy as np

    return np.array(image.to_numpy(), dtype=np.uint8, copy=True)


def _image(pixels: "Pixels") -> Any:
    # As in `Drawing._wish`.
    import numpy as np
    from cyllama import sd

    return sd.SDImage.from_numpy(np.ascontiguousarray(pixels))


def _fitted(pixels: "Pixels", width: int, height: int) -> "Pixels":
    """Return a picture scaled to a size, between its pixels in a straight line."""
    # As in `Drawing._wish`.
    import numpy as np

    if pixels.shape[:2] == (height, width):
        return pixels
    scaled = pixels.astype(np.float32)
    for axis, length in enumerate((height, width)):
        has = scaled.shape[axis]
        at = np.clip((np.arange(length) + 0.5) * has / length - 0.5, 0, has - 1)
        low = at.astype(int)
        share = (at - low).astype(np.float32).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        upper = np.take(scaled, np.minimum(low + 1, has - 1), axis=axis)
        scaled = np.take(scaled, low, axis=axis) * (1 - share) + upper * share
    return scaled.round().astype(np.uint8)


def png_of(pixels: "Pixels", level: int = 6) -> bytes:
    """Return a picture as a PNG file, each row as its difference from the one above."""
    height, width, channels = pixels.shape
    rows = pixels.reshape(height, width * channels).copy()
    rows[1:] -= pixels.reshape(height, width * channels)[:-1]
    kind = {1: 0, 3: 2, 4: 6}[channels]
    lines = b"".join(b"\2" + row.tobytes() for row in rows)
    head = struct.pack(">2I5B", width, height, 8, kind, 0, 0, 0)
    data = zlib.compress(lines, level)
    return _PNG + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def load(instructions: Instructions) -> Drawing:
    """Load a model.

    Raises:
        ValueError: its files cannot be used.
    """
    os.environ["GGML_NO_BACKTRACE"] = "1"  # a crash starts no debugger
    # Imported here because the library reads this variable when it is loaded.
    from cyllama import sd

    log = Log()
    sd.set_log_callback(log.take)
    sd.set_progress_callback(lambda *_: None)  # without one, bars are printed
    files = dict(instructions.files)
    paths = {FILES[what]: path for what, path in files.items() if what in FILES}
    if "diffusion_model" not in files:
        paths["model_path"] = instructions.model
    parameters = sd.SDContextParams()
    for name, path in paths.items():
        setattr(parameters, name, path)
    options = {**instructions.options, "has_taesd": "taesd" in files}
    half = max(1, (os.cpu_count() or 2) // 2)
    parameters.n_threads = int(number_of(options, "threads", half, 1, 64))
    if isinstance(is_flash := options.get("flash_attention"), bool):
        parameters.diffusion_flash_attn = is_flash
    parameters.tae_preview_only = True
    try:
        context = sd.SDContext(parameters)
    except RuntimeError as error:
        reason = log.reason
        if not reason or reason.startswith(_UNKNOWN):
            reason = "it is broken, or of a kind that the engine does not know"
        raise ValueError(reason) from error
    if not context.supports_image_generation:
        raise ValueError("it draws no pictures")
    return Drawing(context, log, options)


if __name__ == "__main__":
    serve(load)
