"""Instructions in files: `AGENTS.md` of a folder, and skills, which are folders with a `SKILL.md`.

A chat is given one only when its user says so. It is then a part of the system prompt between two
marks, so that it is seen, saved with the chat, and taken out again.
"""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ollm_tui.config.regular_file import (
    is_folder,
    is_there,
    read_bounded,
    real_path,
    why_unreadable,
)
from ollm_tui.config.yaml_file import YamlProblem, parse_yaml
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

Kind: TypeAlias = Literal["file", "skill"]
AGENTS: Final = "AGENTS.md"
SKILL: Final = "SKILL.md"
MAX_BYTES: Final = 200_000
MAX_SKILLS: Final = 200
_MAX_PARENTS: Final = 20
"""Folders above the one of the program that are looked at."""
_NAME: Final = lazy_re(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_HEAD: Final = lazy_re(r"---[ \t]*\n(?P<head>.*?\n)---[ \t]*(?:\n|\Z)(?P<body>.*)", re.DOTALL)
_MAX_DESCRIPTION_LENGTH: Final = 1024
_SECTION: Final = lazy_re(
    r"\n*<instructions from=\"(?P<name>[^\"\n]*)\">\n(?P<text>.*?)\n</instructions>", re.DOTALL
)
_END: Final = lazy_re(r"</(?=instructions>)")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFile:
    """One file with instructions that a chat can be given."""

    name: str
    """The path of an `AGENTS.md` from the folder of the program, or the name of a skill."""
    kind: Kind
    path: Path
    about: str
    """What a skill is for; the first line of another file."""
    text: str
    """What the model is given: a skill without its head."""


class InstructionFiles:
    """The instructions that there are here; every method blocks.

    `AGENTS.md` is looked for in the folder of the program and, inside a repository, in those above
    it up to its root. Skills are in `.agents/skills` of these folders and in `own_skills`.
    """

    def __init__(self, folder: Path, own_skills: Path) -> None:
        self._folder = folder
        self._own_skills = own_skills

    def listed(self) -> Sequence[InstructionFile]:
        """Return all that can be read; of two skills with one name, the nearest."""
        folders = [*self._folders()]
        files = [file for folder in reversed(folders) if (file := self._agents(folder))]
        skills: dict[str, InstructionFile] = {}
        for place, root in self._skill_folders():
            for skill in _skills(place, root):
                skills.setdefault(skill.name, skill)
        return [*files, *(skills[name] for name in sorted(skills)[:MAX_SKILLS])]

    def read(self, name: str) -> InstructionFile:
        """Return the instructions of that name.

        Raises:
            AIError: there are none, or their file cannot be used.
        """
        for file in self.listed():
            if name.casefold() == file.name.casefold():
                return file
        for place, root in self._skill_folders() if _NAME.fullmatch(name) else ():
            if is_there(place / name / SKILL):
                _skill(place / name, root)  # says why it cannot be used
        raise _refusal(f"There are no instructions “{name}” here.", "/skills lists what there is.")

    def _skill_folders(self) -> Iterator[tuple[Path, Path | None]]:
        """Yield the folders with skills, each with the one that its links must not leave."""
        folders = [*self._folders()]
        yield from ((folder / ".agents" / "skills", folders[-1]) for folder in folders)
        yield self._own_skills, None

    def _folders(self) -> Iterator[Path]:
        """Yield the folder of the program, and inside a repository those up to its root."""
        above = [self._folder, *self._folder.parents][:_MAX_PARENTS]
        root = next((folder for folder in above if is_there(folder / ".git")), self._folder)
        for folder in above:
            yield folder
            if folder == root:
                return

    def _agents(self, folder: Path) -> InstructionFile | None:
        path, root = folder / AGENTS, [*self._folders()][-1]
        try:
            text = _read(path, root)
        except (OSError, ValueError):
            return None
        name = Path(os.path.relpath(path, self._folder)).as_posix()
        first = next(iter(text.strip().splitlines()), "").lstrip("# ")
        return InstructionFile(name=name, kind="file", path=path, about=first[:80], text=text)


def _skills(folder: Path, root: Path | None) -> Iterator[InstructionFile]:
    if not is_folder(folder):
        return
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return
    for name in names[:MAX_SKILLS]:
        if _NAME.fullmatch(name) and is_there(folder / name / SKILL):
            try:
                yield _skill(folder / name, root)
            except AIError:  # `read` says why, to whoever asks for it
                continue


def _skill(folder: Path, root: Path | None) -> InstructionFile:
    path = folder / SKILL
    try:
        text = _read(path, root)
        match = _HEAD.fullmatch(text)
        values = parse_yaml(match["head"], path).values if match else {}
    except YamlProblem as problem:
        raise _refusal(f"The skill cannot be used. {problem}") from problem
    except (OSError, ValueError) as error:
        raise _refusal(f"{path} cannot be read: {why_unreadable(error)}.") from error
    name, about = values.get("name"), values.get("description")
    if match is None or name != folder.name or not isinstance(about, str) or not about.strip():
        raise _refusal(
            f"{path} is no skill: it has to begin with a name, which is that of its folder, and a "
            "description between two lines ---."
        )
    about = " ".join(about.split())[:_MAX_DESCRIPTION_LENGTH]
    text = f"{match['body'].strip()}\n\nFiles that this names are in {folder}."
    return InstructionFile(name=folder.name, kind="skill", path=path, about=about, text=text)


def _read(path: Path, root: Path | None) -> str:
    """Read a file; a project may not pass off what is outside of it as its own."""
    if root is not None and not real_path(path).is_relative_to(real_path(root)):
        raise OSError(errno.EXDEV, "it is a link to a file outside of the project")
    return read_bounded(path, MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n")


def _refusal(sentence: str, hint: str | None = None) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence, hint=hint)


def instructions_in(system_prompt: str | None) -> dict[str, str]:
    """Return the instructions that a system prompt has, by name."""
    return {match["name"]: match["text"] for match in _SECTION.finditer(system_prompt or "")}


def with_instructions(system_prompt: str | None, file: InstructionFile) -> str:
    """Return a system prompt with instructions at its end; those of the same name are replaced."""
    before = without_instructions(system_prompt, file.name)
    name, text = file.name.replace('"', "'"), _END.sub("< /", file.text.strip())
    section = f'<instructions from="{name}">\n{text}\n</instructions>'
    return f"{before}\n\n{section}" if before else section


def without_instructions(system_prompt: str | None, name: str | None = None) -> str | None:
    """Return a system prompt without the instructions of one name, or without all."""

    def kept(match: re.Match[str]) -> str:
        is_meant = name is None or match["name"] == name.replace('"', "'")
        return "" if is_meant else match[0]

    return _SECTION.sub(kept, system_prompt or "").strip("\n") or None
