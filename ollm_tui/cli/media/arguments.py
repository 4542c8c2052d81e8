"""The commands beside the chat that turn one input into another kind of content."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ollm_tui.cli.models_arguments import add_command, typed_fields
from ollm_tui.dataclass import dataclass

GAP = "<FILL>"
SOUND_FORMATS = ("wav", "mp3", "opus", "flac", "aac")


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaOptions:
    """What these commands take beside the options that all commands share."""

    texts: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    dimensions: int | None = None
    output: Path | None = None
    """The file to write."""
    force: bool = False
    """Whether it may replace a file."""
    voice: str | None = None
    format: str | None = None
    speed: float | None = None
    language: str | None = None
    size: str | None = None
    """Width and height in pixels: `512x512`."""
    seed: int | None = None
    count: int = 1
    edit: tuple[Path, ...] = ()
    """Pictures to edit."""
    mask: Path | None = None
    seconds: int | None = None
    fps: int | None = None
    frames: int | None = None
    image: Path | None = None
    """The first frame."""
    prefix: Path | None = None
    suffix: Path | None = None
    mark: str | None = None
    """What stands for the gap."""
    max_tokens: int | None = None


def add_media(commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser) -> None:
    """Add the commands."""
    _add_embed(commands, shared)
    _add_speak(commands, shared)
    _add_transcribe(commands, shared)
    _add_draw(commands, shared)
    _add_video(commands, shared)
    _add_music(commands, shared)
    _add_infill(commands, shared)


def _add_embed(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    embed = add_command(commands, "embed", "turn texts into embeddings, as JSON lines", shared)
    about = "texts to embed; without any, or with -, each line of standard input is one text"
    embed.add_argument("texts", metavar="TEXT", nargs="*", help=about)
    about = "file whose whole content is one text; may be repeated"
    embed.add_argument(
        "--file", dest="files", metavar="FILE", type=Path, action="append", help=about
    )
    about = "length of the vectors, for models that can shorten them"
    embed.add_argument("--dimensions", metavar="NUMBER", type=int, help=about)


def _add_speak(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    speak = add_command(commands, "speak", "write the speech of a text to a file", shared)
    about = "what to say; without it, or with -, standard input"
    speak.add_argument("texts", metavar="TEXT", nargs="*", help=about)
    _add_output(speak)
    speak.add_argument("--voice", metavar="NAME", help="one of the voices of the model")
    about = f"{', '.join(SOUND_FORMATS)} (default: by the name of the file)"
    speak.add_argument("--format", metavar="FORMAT", choices=SOUND_FORMATS, help=about)
    speak.add_argument("--speed", metavar="NUMBER", type=float, help="0.25 to 4; 1 is normal")


def _add_transcribe(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    transcribe = add_command(commands, "transcribe", "transcribe the speech in a file", shared)
    about = "sound: WAV, MP3, FLAC, OGG or another format that the server accepts"
    transcribe.add_argument("files", metavar="FILE", nargs=1, type=Path, help=about)
    about = "the language that is spoken, such as en (default: the model detects it)"
    transcribe.add_argument("--language", metavar="CODE", help=about)


def _add_draw(commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser) -> None:
    draw = add_command(commands, "draw", "generate pictures from a text prompt", shared)
    about = "what to draw; without it, or with -, standard input"
    draw.add_argument("texts", metavar="PROMPT", nargs="*", help=about)
    _add_output(draw)
    about = "width and height in pixels, such as 512x512"
    draw.add_argument("--size", metavar="WxH", help=about)
    about = "the same seed gives the same picture again, if the server supports seeds"
    draw.add_argument("--seed", metavar="NUMBER", type=int, help=about)
    about = "picture to edit as described in the text; may be repeated"
    draw.add_argument("--edit", metavar="FILE", type=Path, action="append", help=about)
    about = "picture that marks where to edit, in the form that the server expects"
    draw.add_argument("--mask", metavar="FILE", type=Path, help=about)
    about = "how many pictures; the files get numbers (default: 1)"
    draw.add_argument("--count", metavar="NUMBER", type=int, help=about)


def _add_video(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    video = add_command(commands, "video", "generate a video from a text prompt", shared)
    about = "what happens in it; without it, or with -, standard input"
    video.add_argument("texts", metavar="PROMPT", nargs="*", help=about)
    _add_output(video)
    video.add_argument("--seconds", metavar="NUMBER", type=int, help="its length")
    video.add_argument("--fps", metavar="NUMBER", type=int, help="frames per second")
    about = "how many frames, instead of --seconds"
    video.add_argument("--frames", metavar="NUMBER", type=int, help=about)
    about = "width and height in pixels, such as 832x480"
    video.add_argument("--size", metavar="WxH", help=about)
    about = "the same seed gives the same video again, if the server supports seeds"
    video.add_argument("--seed", metavar="NUMBER", type=int, help=about)
    video.add_argument("--image", metavar="FILE", type=Path, help="picture for the first frame")


def _add_music(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    music = add_command(commands, "music", "generate music from a text prompt", shared)
    about = "what it sounds like; without it, or with -, standard input"
    music.add_argument("texts", metavar="PROMPT", nargs="*", help=about)
    _add_output(music)
    music.add_argument("--seconds", metavar="NUMBER", type=int, help="its length")


def _add_infill(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    infill = add_command(commands, "infill", "write the missing text between two others", shared)
    about = "file with a gap in its text; without it, or with -, standard input"
    infill.add_argument("files", metavar="FILE", nargs="?", type=Path, help=about)
    about = f"what stands for the gap (default: {GAP})"
    infill.add_argument("--mark", metavar="TEXT", help=about)
    about = "file with the text before the gap, instead of FILE"
    infill.add_argument("--prefix", metavar="FILE", type=Path, help=about)
    about = "file with the text after the gap"
    infill.add_argument("--suffix", metavar="FILE", type=Path, help=about)
    about = "maximum number of tokens to write"
    infill.add_argument("--max-tokens", metavar="NUMBER", type=int, help=about)


def _add_output(command: argparse.ArgumentParser) -> None:
    about = "the file to write"
    command.add_argument("-o", "--output", metavar="FILE", type=Path, help=about)
    about = "replace the file if it exists"
    command.add_argument("--force", action="store_true", help=about)


def media_options(values: Mapping[str, Any]) -> MediaOptions:
    """Return the options that were typed."""
    typed = typed_fields(MediaOptions, values)
    if isinstance(typed.get("files"), Path):
        typed["files"] = (typed["files"],)
    for name in ("texts", "files", "edit"):
        typed[name] = tuple(typed.get(name, ()))
    return MediaOptions(**typed)
