"""Renders templates in a process of its own, as `transformers` does, within limits.

Run as a file, never imported: it needs the standard library and `jinja2`, nothing else. Templates
come from model files, so they run in jinja2's immutable sandbox, and the process can neither open
a file nor start a program, nor use more than its share of memory and time.
"""

import json
import resource
import select
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeAlias

import jinja2
import jinja2.exceptions
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox
import jinja2.utils

Result: TypeAlias = dict[str, str]
OUTPUT_LIMIT = 4 * 1024 * 1024
"""Characters of one rendered text."""
MESSAGE_LIMIT = 500
"""Characters of an error."""
_DENIED = ("open", "import", "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "tempfile.")
"""Beginnings of the audit events that end a rendering."""


class Generation(jinja2.ext.Extension):
    """`{% generation %}` marks what a model wrote, for training; the text is the same."""

    tags = {"generation"}  # noqa: RUF012 -- as the base class has it

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """Read a block to its end."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        block = jinja2.nodes.CallBlock(self.call_method("_unchanged"), [], [], body)
        return block.set_lineno(line)

    def _unchanged(self, caller: Callable[[], str]) -> str:
        return caller()


class RaisedError(Exception):
    """The template refuses the conversation with a sentence of its own."""


class TooLongError(Exception):
    """The rendered text is longer than any prompt."""


def _raise(message: object) -> NoReturn:
    raise RaisedError(str(message))


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON without jinja2's escapes for HTML."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _clock(moment: str | None) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        when = datetime.fromisoformat(moment) if moment else datetime.now()  # local, as people do
        return when.strftime(form)

    return strftime_now


class PlainNamespace(jinja2.utils.Namespace):
    """A namespace that cannot get the names of Python's own attributes."""

    def __init__(*arguments: Any, **values: Any) -> None:
        self, *rest = arguments
        jinja2.utils.Namespace.__init__(self)
        for name, value in dict(*rest, **values).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an attribute."""
        if str(name).startswith("_"):
            raise jinja2.exceptions.SecurityError(f"A namespace may not have {name}.")
        super().__setitem__(name, value)


def _make_dict(*arguments: Any, **values: Any) -> dict[Any, Any]:
    """Return a new object; templates get no class of Python's."""
    return dict(*arguments, **values)


def make_environment(now: str | None, *, is_strict: bool = False) -> jinja2.Environment:
    """Return what templates are compiled with; `now` stands in for the clock.

    `is_strict`: a variable without a value is an error, and the last newline stays, as texts of
    messages need it. Chat templates look for variables that may be missing.
    """
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=is_strict,
        undefined=jinja2.StrictUndefined if is_strict else jinja2.Undefined,
        extensions=[Generation, jinja2.ext.loopcontrols],
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _clock(now)
    environment.globals["namespace"] = PlainNamespace
    environment.globals["dict"] = _make_dict
    del environment.globals["lipsum"]
    return environment


def render(template: jinja2.Template, context: Mapping[str, Any]) -> Result:
    """Render a conversation; an error is a result, too."""
    pieces, length = [], 0
    try:
        for piece in template.generate(context):
            length += len(piece)
            if length > OUTPUT_LIMIT:
                raise TooLongError  # noqa: TRY301 -- one table of errors below
            pieces.append(piece)
        return {"text": "".join(pieces)}
    except Exception as error:  # noqa: BLE001 -- a template can raise anything
        return _failure(error)


def _failure(error: Exception) -> Result:
    kinds: dict[type[Exception], str] = {
        RaisedError: "raised",
        TooLongError: "too_long",
        MemoryError: "memory",
        RecursionError: "too_deep",
        jinja2.exceptions.SecurityError: "unsafe",
        PermissionError: "unsafe",
        jinja2.TemplateSyntaxError: "syntax",
        jinja2.UndefinedError: "undefined",
        SyntaxError: "too_deep",  # nested deeper than Python's compiler goes
    }
    kind = next((name for kind, name in kinds.items() if isinstance(error, kind)), "failed")
    text = str(error) or type(error).__name__
    if isinstance(error, jinja2.TemplateSyntaxError):
        text = f"line {error.lineno}: {error.message}"
    return {"error": kind, "message": text[:MESSAGE_LIMIT]}


def answer(job: Mapping[str, Any]) -> list[Result]:
    """Render each conversation of a job with its template, or each text with its values."""
    if "texts" in job:
        strict = make_environment(job["now"], is_strict=True)
        return [_rendered(strict, text, [values])[0] for text, values in job["texts"]]
    return _rendered(make_environment(job["now"]), job["template"], job["contexts"])


def _rendered(
    environment: jinja2.Environment, text: str, contexts: list[Mapping[str, Any]]
) -> list[Result]:
    try:
        template = environment.from_string(text)
    except Exception as error:  # noqa: BLE001 -- a template can raise anything
        return [_failure(error)] * len(contexts)
    return [render(template, context) for context in contexts]


def _warm_up() -> None:
    """Use everything once, since nothing can be imported or opened afterwards."""
    text = "{% for m in messages %}{{ m | tojson }}{% endfor %}{{ strftime_now('%A %d %B') }}"
    job: dict[str, Any] = {"template": text, "contexts": [{"messages": [{}]}], "now": None}
    answer(job)
    answer({**job, "template": "{{ raise_exception('') }}"})
    answer({**job, "template": "{% if %}"})
    answer({**job, "template": "{{ (1).__class__ }}{{ 1 / 0 }}"})
    answer({"texts": [["{{ missing }}", {}]], "now": None})


def _limit(memory: int) -> None:
    for kind, most in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_AS, memory),
    ):
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):  # a system without it, or a lower limit of the parent
            continue
    sys.addaudithook(_deny)


def _deny(event: str, _arguments: tuple[Any, ...]) -> None:
    if event.startswith(_DENIED):
        raise PermissionError(f"A template may not use {event}.")


def _limit_time(seconds: int) -> None:
    """Let the system end this process if a job takes longer, also without its parent."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    except (OSError, ValueError):  # a lower limit of the parent
        return


def main(memory: int, seconds: int, idle_s: float) -> None:
    """Render jobs, one line of JSON each, until the input closes or nothing comes for a while."""
    _warm_up()
    _limit(memory)
    _say({"ready": True})
    jobs = sys.stdin.buffer
    while select.select([jobs], [], [], idle_s)[0] and (line := jobs.readline()):
        _limit_time(seconds)
        _say({"results": answer(json.loads(line))})


def _say(line: Mapping[str, object]) -> None:
    sys.stdout.buffer.write(json.dumps(line).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
