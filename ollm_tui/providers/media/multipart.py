"""Multipart forms: the bodies of requests that upload files."""

import secrets
from collections.abc import Mapping, Sequence

from ollm_tui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file of a form. Its name on this machine stays here: `name` only tells the format."""

    field: str
    name: str
    content_type: str
    data: bytes


def multipart(fields: Mapping[str, str], files: Sequence[FormFile]) -> tuple[bytes, str]:
    """Return the body of a form, and its content type."""
    boundary = secrets.token_hex(16)
    parts: list[bytes] = []
    for name, text in fields.items():
        parts += [_head(boundary, f'name="{_quoted(name)}"'), text.encode("utf-8", "replace")]
        parts.append(b"\r\n")
    for file in files:
        names = f'name="{_quoted(file.field)}"; filename="{_quoted(file.name)}"'
        parts.append(_head(boundary, f"{names}\r\ncontent-type: {file.content_type}"))
        parts += [file.data, b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def _head(boundary: str, disposition: str) -> bytes:
    return f"--{boundary}\r\ncontent-disposition: form-data; {disposition}\r\n\r\n".encode()


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
