"""Requests of MCP servers in words: all that would be sent, to whom, and what comes of a yes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.figures import media_figures
from ollm_tui.frontend.link_target import LinkTarget
from ollm_tui.protocol.blocks import TextContent
from ollm_tui.protocol.forms import FormField, FormValues, shown_values
from ollm_tui.protocol.tools import CallPreview

if TYPE_CHECKING:
    from ollm_tui.mcp.requests import AddressRequest, FormRequest, SamplingAnswer, SamplingRequest
    from ollm_tui.protocol.blocks import Block, MediaContent


RequestAnswer: TypeAlias = Literal["yes", "no", "closed"]
"""`closed` is a question that was left without an answer, which servers are told, too."""


@dataclass(frozen=True, slots=True)
class RequestQuestion:
    """A question about a request of a server."""

    title: str
    preview: CallPreview
    yes: str
    """What `y` does."""
    no: str = "refuse"


def sampling_question(request: "SamplingRequest", model: str) -> RequestQuestion:
    """Ask whether the model may answer a server; shows every word that it would get."""
    server = clean_name(request.server)
    limits = [f"at most {counted(request.max_tokens, 'token')}"]
    if request.temperature is not None:
        limits.append(f"temperature {request.temperature:g}")
    if request.stop:
        limits.append(f"stops at {', '.join(map(repr, request.stop))}")
    parts = [("to the model", " · ".join([model, *limits]))]
    if request.system_prompt:
        parts.append(("system prompt", request.system_prompt))
    for message in request.messages:
        parts += [(f"{message.role}", _shown(block)) for block in message.content]
    return RequestQuestion(
        f"Let your model answer the MCP server {server}?",
        CallPreview(
            "The model gets the following, and nothing of this chat. You see its answer before "
            "the server gets it.",
            tuple(parts),
            may_last=False,
        ),
        "ask the model",
    )


def _shown(block: "Block | MediaContent") -> str:
    if isinstance(block, TextContent):
        return block.text
    return f"[{block.type}: {media_figures(block)}]"  # type: ignore[arg-type] # nothing else is read


def answer_question(request: "SamplingRequest", answer: "SamplingAnswer") -> RequestQuestion:
    """Ask whether a server may have the answer."""
    server = clean_name(request.server)
    cut = " It was cut at the limit of tokens." if answer.is_cut else ""
    return RequestQuestion(
        f"Send this answer to the MCP server {server}?",
        CallPreview(
            f"{clean_name(answer.model)} wrote it.{cut}",
            (("answer", answer.text),),
            may_last=False,
        ),
        "send it",
    )


def form_question(request: "FormRequest") -> RequestQuestion:
    """Ask whether the user wants to fill a form."""
    parts = [("what it writes", request.message), *_fields(request.fields)]
    return RequestQuestion(
        f"The MCP server {clean_name(request.server)} asks you something.",
        CallPreview(
            "What you enter goes to that server: no passwords, no keys. You see it once more "
            "before it is sent.",
            tuple(parts),
            may_last=False,
        ),
        "answer",
        "decline",
    )


def _fields(fields: Sequence[FormField]) -> Iterator[tuple[str, str]]:
    for one in fields:
        need = "" if one.is_required else " · may be left out"
        options = ", ".join(option.shown for option in one.options)
        words = "\n".join(filter(None, (one.about, options and f"One of: {options}")))
        yield f"{one.shown}{need}", words


def values_question(request: "FormRequest", values: FormValues) -> RequestQuestion:
    """Ask whether exactly these values are sent."""
    parts = shown_values(request.fields, values) or [("No values.", "")]
    return RequestQuestion(
        f"Send this to the MCP server {clean_name(request.server)}?",
        CallPreview("This is all that it gets.", tuple(parts), may_last=False),
        "send it",
        "decline",
    )


def address_question(request: "AddressRequest", target: LinkTarget) -> RequestQuestion:
    """Ask whether to open a page; its real host stands by itself."""
    parts = (*_address_parts(target), ("what it writes", request.message))
    return RequestQuestion(
        f"The MCP server {clean_name(request.server)} wants you to open a page.",
        CallPreview(
            "It opens in your browser. The server does not learn from ollm what you do there.",
            parts,
            may_last=False,
        ),
        "open it",
        "decline",
    )


def sign_in_question(server: str, target: LinkTarget) -> RequestQuestion:
    """Ask whether to open the page of a sign-in that the user began."""
    return RequestQuestion(
        f"Open the sign-in to the MCP server {clean_name(server)}?",
        CallPreview(
            "It opens in your browser, which comes back to ollm by itself.",
            tuple(_address_parts(target)),
            may_last=False,
        ),
        "open it",
        "only show the address",
    )


def _address_parts(target: LinkTarget) -> list[tuple[str, str]]:
    """Return all that is to be known of an address."""
    host = target.hosts[0]
    port = f":{target.port}" if target.port is not None else ""
    parts = [("host", f"{host.ascii}{port}")]
    if host.is_international:
        parts.append(("the host has look-alike letters, written as", host.written))
    if host.place:
        parts.append(("the host is in", host.place))
    if target.user:
        parts.append(("before the @, which is not the host", target.user))
    if target.scheme != "https":
        parts.append(("not encrypted", "The address begins with http, so others can read along."))
    return [*parts, ("the whole address", target.address)]
