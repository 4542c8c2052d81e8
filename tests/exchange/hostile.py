"""A chat that tries to run and to load things wherever a text of it is shown."""

from dataclasses import replace

from ollm_tui.protocol.blocks import (
    AudioContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord, MessageRecord
from ollm_tui.store.rows import ConversationSettings
from tests.store.test_records import chat

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
EVIL = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</title></style></pre></details><script>alert(1)</script>",
    "[x](javascript:alert(1)) [x](JaVaScRiPt:alert(1)) [x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1)) [x](data:text/html;base64,PHNjcmlwdD4=) [x](vbscript:x)",
    "[x](file:///etc/passwd) [x](//evil.example/a) [x](/a) [x](#a) [x](blob:a)",
    "![x](http://evil.example/track.gif) ![x](javascript:alert(1)) ![x](data:image/svg+xml,a)",
    "![x][r]\n\n[r]: http://evil.example/ref.gif",
    '[x](http://a" onmouseover="alert(1)) <http://a"onclick=alert(1)>',
    '[x](http://a.example "t" onclick="alert(1)")',
    "<javascript:alert(1)> <https://ok.example/>",
    '```"><script>alert(1)</script>\nx</code></pre><script>alert(1)</script>\n```',
    "```html\n<script>alert(1)</script><img src=http://evil.example>\n```",
    "<style>@import 'http://evil.example';</style><link rel=stylesheet href=http://evil.example>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'><base href=http://evil.example>",
    "<iframe src=http://evil.example></iframe><form action=http://evil.example><input>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "\x00\x1b]0;t\x07\u202e<\x00script>alert(1)</script>\ud800",
    "|a|<script>|\n|-|-|\n|<img src=x onerror=alert(1)>|[x](javascript:alert(1))|",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
)


def evil_messages(text: str) -> tuple[Message, ...]:
    """One message for each place that shows a text."""
    return (
        Message("user", text),
        Message("assistant", [ThinkingContent(text), TextContent(text)]),
        Message("assistant", "x", tool_calls=[ToolCall(id=text, name=text, args={text: text})]),
        Message(
            "assistant", "x", tool_calls=[ToolCall(id="1", name="n", args=None, raw_args=text)]
        ),
        Message("tool", text, name=text, tool_call_id=text),
        Message(text, text, name=text),
        Message("user", [ImageContent(data=SVG, name=text, mime_type="image/svg+xml")]),
        Message("user", [ImageContent(url=text, mime_type=text)]),
        Message("user", [ImageContent(url="data:image/svg+xml;base64,PHN2Zz4=")]),
        Message("user", [ImageContent(url="http://evil.example/x.gif"), AudioContent(url=text)]),
        Message("user", [VideoContent(data=text, mime_type=text)]),
        Message("user", [UnknownContent(text or "x", {"data": text})]),
    )


def hostile_chat(script: str = "alert(1)") -> ChatRecord:
    """All of them in all places, as a chain with a branch at each message; each runs a script."""
    records: list[MessageRecord] = []
    texts = tuple(text.replace("alert(1)", script) for text in EVIL)
    for text in texts:
        for words in evil_messages(text):
            behind = (
                records[-2].id if len(records) % 5 == 4 else records[-1].id if records else None
            )
            records.append(
                MessageRecord(
                    id=f"{len(records)}",
                    parent_id=behind,
                    message=words,
                    model=text,
                    created_ms=len(records) * 10**10,
                    updated_ms=0,
                )
            )
    evil = "\n".join(texts)
    settings = ConversationSettings(
        profile=evil,
        model=evil,
        system_prompt=evil,
        options=GenerationOptions(stop=texts, response_format={evil: evil}),
        tools=texts,
    )
    return replace(chat(*records), title=evil, settings=settings)
