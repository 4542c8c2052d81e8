"""Repositories as a loopback hub keeps them: files, commits, and the JSON that tells of them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from tests.support.stored import stored

PIECE = 64 * 1024
STORED = stored("hub.json")
BASIC_FIELDS, FULL_FIELDS, EXPANDABLE = (
    STORED["fields"][kind].split() for kind in ("basic", "full", "expandable")
)
Gate = Literal[False, "auto", "manual"]


@dataclass(frozen=True)
class FakeFile:
    """A file; `lfs` ones have a sum and are sent by the second server."""

    path: str
    content: bytes = b""
    pattern: tuple[int, int] | None = None
    """Size and seed of content that is never whole in memory."""
    lfs: bool = True

    @property
    def size(self) -> int:
        return len(self.content) if self.pattern is None else self.pattern[0]

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        if self.pattern is None:
            for at in range(start, end, PIECE):
                yield self.content[at : min(at + PIECE, end)]
            return
        for at in range(start - start % PIECE, end, PIECE):
            block = at.to_bytes(8, "big") + self._block[8:]
            yield block[max(0, start - at) : end - at]

    @cached_property
    def _block(self) -> bytes:
        seed = self.pattern[1] if self.pattern is not None else 0
        return b"".join(hashlib.sha256(b"%d/%d" % (seed, n)).digest() for n in range(PIECE // 32))

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for piece in self.pieces(0, self.size):
            digest.update(piece)
        return digest.hexdigest()

    @cached_property
    def _pointer(self) -> bytes:
        oid = f"oid sha256:{self.sha256}\nsize {self.size}\n"
        return f"version https://git-lfs.github.com/spec/v1\n{oid}".encode()

    @cached_property
    def blob_id(self) -> str:
        stored = self._pointer if self.lfs else self.content
        return hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()

    def sibling(self, *, blobs: bool) -> dict[str, object]:
        """Tell of it as the list of a repository's details does."""
        facts = {"size": self.size, "blobId": self.blob_id, **self._lfs("sha256")} if blobs else {}
        return {"rfilename": self.path, **facts}

    def entry(self) -> dict[str, object]:
        facts = {"type": "file", "oid": self.blob_id, "size": self.size, "path": self.path}
        return {**facts, **self._lfs("oid")}

    def _lfs(self, sum_name: str) -> dict[str, object]:
        facts = {sum_name: self.sha256, "size": self.size, "pointerSize": len(self._pointer)}
        return {"lfs": facts} if self.lfs else {}


@dataclass
class FakeRepo:
    """A repository of models; `commit` adds a state and moves `main` there."""

    id: str
    files: Sequence[FakeFile] = ()
    downloads: int = 100
    likes: int = 10
    licence: str | None = "apache-2.0"
    tags: tuple[str, ...] = ("gguf", "text-generation", "conversational")
    gated: Gate = False
    private: bool = False
    gguf: Mapping[str, object] | None = None
    modified: str = "2026-05-04T03:02:01.000Z"
    commits: dict[str, Sequence[FakeFile]] = field(default_factory=dict)
    sha: str = ""

    def __post_init__(self) -> None:
        self.commit(self.files)

    def commit(self, files: Sequence[FakeFile]) -> str:
        names = "\n".join(f"{file.path} {file.blob_id}" for file in files)
        facts = f"{self.id}\n{len(self.commits)}\n{names}"
        self.sha = hashlib.sha1(facts.encode()).hexdigest()
        self.commits[self.sha] = files
        self.files = files
        return self.sha

    def at(self, revision: str) -> str | None:
        if revision in ("main", "HEAD"):
            return self.sha
        return revision if revision in self.commits else None

    def file(self, commit: str, path: str) -> FakeFile | None:
        return next((file for file in self.commits.get(commit, ()) if file.path == path), None)

    @property
    def all_tags(self) -> list[str]:
        return [*self.tags, *([f"license:{self.licence}"] if self.licence else []), "region:us"]

    def info(self, commit: str, *, blobs: bool = False) -> dict[str, object]:
        files = self.commits[commit]
        return {
            **STORED["constant"],
            "_id": hashlib.sha1(self.id.encode()).hexdigest()[:24],
            "id": self.id,
            "modelId": self.id,
            "author": self.id.partition("/")[0],
            "sha": commit,
            "private": self.private,
            "gated": self.gated,
            "downloads": self.downloads,
            "likes": self.likes,
            "tags": self.all_tags,
            "lastModified": self.modified,
            "cardData": {"license": self.licence} if self.licence else {},
            "usedStorage": sum(file.size for file in files if file.lfs),
            "siblings": [file.sibling(blobs=blobs) for file in files],
            **({"gguf": dict(self.gguf)} if self.gguf is not None else {}),
        }

    def tree(self, commit: str, folder: str, *, recursive: bool) -> list[dict[str, object]]:
        """List a folder, its folders before its files."""
        inside = f"{folder}/" if folder else ""
        below = [f for f in self.commits[commit] if f.path.startswith(inside)]
        near = [f for f in below if recursive or "/" not in f.path[len(inside) :]]
        folders: dict[str, None] = {}
        for file in below:
            parts = file.path[len(inside) :].split("/")[:-1]
            for depth in range(1, len(parts) + 1 if recursive else min(len(parts), 1) + 1):
                folders[inside + "/".join(parts[:depth])] = None
        directories = [
            {"type": "directory", "oid": hashlib.sha1(n.encode()).hexdigest(), "size": 0, "path": n}
            for n in sorted(folders)
        ]
        return [*directories, *(file.entry() for file in near)]
