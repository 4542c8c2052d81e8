"""Sound, videos and PDF files: known by their first bytes, measured, and sent unchanged."""

import struct
from pathlib import Path

import pytest

from ollm_tui.attachments import media
from ollm_tui.attachments.attachment import attach, attach_file, reattached
from ollm_tui.attachments.media import media_of
from ollm_tui.decode.sounds import read_sound_header, waveform
from ollm_tui.protocol.base64_text import from_base64
from ollm_tui.protocol.blocks import AudioContent
from ollm_tui.protocol.errors import AIError
from tests.support.sounds import wav
from tests.support.video_bytes import mp4, webm

FLAC = b"fLaC\0\0\0\x22" + bytes(10) + (44_100 << 44 | 88_200).to_bytes(8) + bytes(20)
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
FILES = {
    "a.wav": (wav(0.5), "wav", "audio", 0.5),
    "a.flac": (FLAC, "flac", "audio", 2.0),
    "a.mp3": (b"ID3\x04" + bytes(40), "mp3", "audio", None),
    "b.mp3": (b"\xff\xfb\x90\x00" + bytes(40), "mp3", "audio", None),
    "a.aac": (b"\xff\xf1\x50\x80" + bytes(40), "aac", "audio", None),
    "a.ogg": (b"OggS" + bytes(40), "ogg", "audio", None),
    "a.m4a": (mp4(brand=b"M4A "), "m4a", "audio", None),
    "a.mp4": (mp4(), "mp4", "video", 2.0),
    "a.webm": (webm(), "webm", "video", 2.0),
    "a.pdf": (PDF, "pdf", "document", None),
}


@pytest.mark.parametrize("name", FILES)
async def test_a_file_is_attached_as_what_its_bytes_are(name: str, tmp_path: Path) -> None:
    data, kind, modality, length = FILES[name]
    path = tmp_path / f"{name}.txt"  # the name does not count
    path.write_bytes(data)
    file = await attach_file(path)
    content = file.content
    assert (file.kind, content.type, file.size) == (kind, modality, len(data))
    assert (content.name, getattr(content, "duration_s", None)) == (path.name, length)
    assert isinstance(content.data, str)
    assert from_base64(content.data) == data
    assert reattached(content) == file


async def test_what_is_neither_is_refused_and_text_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0\1\2\3")
    (tmp_path / "x.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    (tmp_path / "x.pdf").write_bytes(b"only words")
    with pytest.raises(AIError, match=r"x\.bin is no picture, sound, video, PDF or text"):
        await attach(tmp_path / "x.bin")
    with pytest.raises(AIError, match="HEIC"):
        await attach(tmp_path / "x.heic")
    with pytest.raises(AIError, match=r"x\.pdf is no picture, sound, video or PDF"):
        await attach_file(tmp_path / "x.pdf")


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_MEDIA_BYTES", 10)
    with pytest.raises(AIError, match=r"a\.wav has 0\.0 MB"):
        media_of("a.wav", wav())


def test_a_damaged_sound_is_a_sound_of_unknown_length() -> None:
    for data in (wav()[:12], wav()[:30], b"fLaC", b"RIFF\0\0\0\0WAVEfmt \xff\xff\xff\xff"):
        header = read_sound_header(data)
        assert header is not None
        assert header.duration_s is None or header.duration_s >= 0
        assert waveform(data, 8) == []
    assert read_sound_header(b"\xff\xff\xff\xff") is None


def test_the_waveform_is_as_loud_as_the_sound_in_each_part() -> None:
    loud, silent = wav(0.2, peak=16_384), struct.pack("<3200h", *bytes(3200))
    heights = waveform(loud + silent, 4)  # the file goes on behind what its header says
    assert len(heights) == 4
    assert heights == pytest.approx([0.5] * 4, abs=0.01)
    assert waveform(FLAC, 4) == []
    assert reattached(AudioContent(url="https://x/a.wav")) is None
