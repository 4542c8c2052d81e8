"""Records from or plays on the sound device of this machine, by miniaudio, in its own process.

Run as a file: `record` prints a WAV file until SIGTERM, `play` plays what it reads, and `devices`
lists what there is to do either. Initialising a
device may block and print, so nothing of it happens in the program itself, which imports only the
constants.
"""

import contextlib
import json
import os
import queue
import signal
import struct
import sys
import threading
import time
from collections.abc import Generator
from typing import Any, NoReturn

SAMPLE_RATE = 16_000
"""What speech models are trained with."""
NO_PACKAGE, NO_DEVICE, DEVICE_LOST, NOT_DECODED = 81, 82, 83, 84
"""Exit codes."""
_PLAY_RATE, _PLAY_CHANNELS = 48_000, 2
_RECORD_PERIOD_MS, _PLAY_PERIOD_MS = 50, 20
_START_S, _SILENT_S, _TAIL_S, _POLL_S = 8.0, 2.0, 0.1, 0.05
_ENDLESS = 0xFFFFFFFF


def wav_header(rate: int, channels: int, size: int | None) -> bytes:
    """Return the header of 16-bit samples; a size of None is not known yet."""
    data = _ENDLESS if size is None else size
    riff = _ENDLESS if size is None else size + 36
    form = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    return (
        b"RIFF" + struct.pack("<I", riff) + b"WAVEfmt " + form + b"data" + struct.pack("<I", data)
    )


def _leave(code: int, message: object = "") -> NoReturn:
    """End at once: a device that hangs must not keep the process."""
    with contextlib.suppress(OSError):
        os.write(2, f"{message}\n".encode())
    os._exit(code)


class _Watch:
    """Ends the process if the device does not start, or stops asking for or giving sound."""

    def __init__(self) -> None:
        self._limit_s = _START_S
        self._seen = time.monotonic()
        self._parent = os.getppid()
        threading.Thread(target=self._run, daemon=True).start()

    def touch(self) -> None:
        """Note that the device works."""
        self._limit_s, self._seen = _SILENT_S, time.monotonic()

    def _run(self) -> None:
        while True:
            time.sleep(_POLL_S)
            if os.getppid() != self._parent:
                os._exit(0)  # nobody listens any more
            if time.monotonic() - self._seen > self._limit_s:
                _leave(DEVICE_LOST if self._limit_s == _SILENT_S else NO_DEVICE, "no answer")


def _backends(miniaudio: Any, name: str | None) -> Any:
    return [miniaudio.Backend[name]] if name else None


def _require_device(device: Any, backend: str | None) -> None:
    """Refuse the silent device that stands in where there is none."""
    if device.backend == "Null" and backend != "NULL":
        _leave(NO_DEVICE, "no device")


def _record(miniaudio: Any, backend: str | None, out: int) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    watch, pieces = _Watch(), queue.SimpleQueue[bytes | None]()
    try:
        device = miniaudio.CaptureDevice(
            miniaudio.SampleFormat.SIGNED16,
            1,
            SAMPLE_RATE,
            _RECORD_PERIOD_MS,
            backends=_backends(miniaudio, backend),
            app_name="ollm",
        )
        _require_device(device, backend)
    except miniaudio.MiniaudioError as error:
        _leave(NO_DEVICE, error)

    def take() -> Generator[None, bytes, None]:
        while True:
            data = yield
            watch.touch()
            pieces.put(bytes(data))

    def write() -> None:
        with contextlib.suppress(OSError):  # the program has ended
            os.write(out, wav_header(SAMPLE_RATE, 1, None))
            while (piece := pieces.get()) is not None:
                os.write(out, piece)
        ended.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    taking = take()
    next(taking)
    device.start(taking)
    while not ended.wait(_POLL_S):
        pass
    pieces.put(None)
    writer.join(1.0)
    os._exit(0)  # closing a device can hang


def _play(miniaudio: Any, backend: str | None) -> None:
    sound = sys.stdin.buffer.read()
    watch = _Watch()
    try:
        rate, channels = _PLAY_RATE, _PLAY_CHANNELS
        form = miniaudio.SampleFormat.SIGNED16
        samples = miniaudio.decode(sound, form, channels, rate).samples
    except miniaudio.MiniaudioError as error:
        _leave(NOT_DECODED, error)
    try:
        device = miniaudio.PlaybackDevice(
            form,
            channels,
            rate,
            _PLAY_PERIOD_MS,
            backends=_backends(miniaudio, backend),
            app_name="ollm",
        )
        _require_device(device, backend)
    except miniaudio.MiniaudioError as error:
        _leave(NO_DEVICE, error)
    ended = threading.Event()

    def give() -> Generator[memoryview, int, None]:
        data, start = memoryview(samples).cast("B"), 0
        count = yield data[:0]
        while start < len(data):
            watch.touch()
            end = start + count * channels * 2
            count = yield data[start:end]
            start = end
        ended.set()

    giving = give()
    next(giving)
    device.start(giving)
    ended.wait()
    time.sleep(_TAIL_S)  # what the device still holds
    os._exit(0)


def _list(miniaudio: Any, direction: str, out: int) -> None:
    """Print the devices; the silent ones that stand in where there is none are no devices."""
    try:
        devices = miniaudio.Devices()
        listed = devices.get_captures() if direction == "record" else devices.get_playbacks()
    except miniaudio.MiniaudioError as error:
        _leave(NO_DEVICE, error)
    is_silent = devices.backend == "Null"
    names = [] if is_silent else [str(one["name"]) for one in listed]
    kept = [name for name in names if not name.startswith("Discard all samples")]
    os.write(out, json.dumps({"devices": kept}).encode())
    os._exit(0)  # closing can hang


def main(action: str, backend: str | None = None) -> None:
    """Do as the command line says."""
    out = os.dup(1)
    os.dup2(2, 1)  # a sound library may print
    try:
        import miniaudio
    except ImportError as error:
        _leave(NO_PACKAGE, error)
    if action == "devices":
        _list(miniaudio, backend or "play", out)
    elif action == "record":
        _record(miniaudio, backend, out)
    else:
        _play(miniaudio, backend)


if __name__ == "__main__":
    main(*sys.argv[1:])
