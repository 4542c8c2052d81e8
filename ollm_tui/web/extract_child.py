"""Turns HTML into readable text in a process of its own, within limits.

Run as a program, never imported: pages come from anywhere, and a parser may take them badly. Input
is one line of JSON with the address and the charset, then the page. Output is a line of JSON with
the title and the plain text, then, if there is time, a line with the main text as Markdown.
"""

import json
import resource
import sys
from typing import Any

from ollm_tui.web.charsets import declared, decoded

MEMORY_BYTES = 1 << 30
CPU_S = 5
MAX_MARKDOWN_LENGTH = 1_500_000
"""Characters of a page whose main text is looked for; longer ones take seconds."""
MAX_TEXT_LENGTH = 300_000
_DENIED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "shutil.")


def limit() -> None:
    """Take away what reading a page does not need."""
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))

    def audit(event: str, _arguments: Any) -> None:
        if event.startswith(_DENIED):
            raise PermissionError(event)

    sys.addaudithook(audit)


def say(values: dict[str, str]) -> None:
    """Write one line of JSON."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read one page."""
    import lxml.etree
    import lxml.html
    import trafilatura

    limit()
    head = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    text = decoded(data, head["charset"], declared(data)).replace("\0", "")
    if not text.strip():
        say({"title": "", "plain": ""})
        return
    # as bytes, since lxml refuses text that declares an encoding
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True)
    try:
        tree = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except lxml.etree.LxmlError:  # nothing but comments
        say({"title": "", "plain": ""})
        return
    title = " ".join((tree.findtext(".//title") or "").split())[:300]
    for tag in ("script", "style", "noscript", "template", "svg", "title"):
        for element in [*tree.iter(tag)]:
            element.drop_tree()
    lines = (" ".join(line.split()) for line in tree.itertext())
    plain = "\n".join(line for line in lines if line)
    say({"title": title, "plain": plain[:MAX_TEXT_LENGTH]})
    if len(text) <= MAX_MARKDOWN_LENGTH:
        main_text = trafilatura.extract(
            text,
            url=head["url"],
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_comments=False,
            fast=True,
        )
        say({"text": (main_text or "")[:MAX_TEXT_LENGTH]})


if __name__ == "__main__":
    main()
