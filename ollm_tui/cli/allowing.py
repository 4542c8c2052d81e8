"""What `--allow` lets tools do where nobody can be asked."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.cli.output import UsageError
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import Approval, ToolCall, includes
from ollm_tui.shell.words import fits, read_pattern
from ollm_tui.tools.ask_person import NOT_ASKED
from ollm_tui.tools.prepared import AsksUser, preview_of

_MAX_LENGTH: Final = 200
_MAX_LISTED: Final = 5
SHELL: Final = "shell"
FETCH: Final = "web_fetch"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Tools that may act without a question, and patterns of commands."""

    tools: frozenset[str] = frozenset()
    commands: tuple[tuple[str, ...], ...] = ()
    hosts: frozenset[str] = frozenset()
    """Hosts that pages may be fetched from."""

    @classmethod
    def of(cls, values: Sequence[str]) -> "Allowed":
        """Read the values of `--allow`: `time__*`, `shell:git log *`, `web_fetch:HOST`.

        Raises:
            UsageError: one names no command.
        """
        tools, commands, hosts = set(), [], set()
        for value in values:
            name, colon, text = value.strip().partition(":")
            if not colon:
                tools.add(name)
                continue
            if name == FETCH and text.strip():
                hosts.add(text.strip().lower())
                continue
            pattern = read_pattern(text) if name == SHELL else None
            if pattern is None:
                raise UsageError(
                    f"--allow {value!r} names no single plain command.",
                    "Such as --allow 'shell:git log *', or --allow shell for any command.",
                )
            commands.append(pattern)
        return cls(frozenset(tools), tuple(commands), frozenset(hosts))

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that it names."""
        more = {SHELL for _one in self.commands} | {FETCH for _one in self.hosts}
        return tuple(sorted(self.tools | more))


@dataclass(slots=True)
class NonInteractiveApprover:
    """Allows what reads and what was allowed before; anything else needs an approval."""

    allowed: Allowed = field(default_factory=Allowed)
    needed: list[str] = field(default_factory=list)
    """The calls that were refused for it."""
    unread: list[str] = field(default_factory=list)
    """What has to be read before other calls can run, as sentences."""

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Decide without asking; files that can run something are never changed."""
        if isinstance(tool, AsksUser):
            return Approval(allowed=False, reason=NOT_ASKED)
        preview = preview_of(tool)
        if preview is not None and preview.unread:
            self.unread.append(preview.unread)
            return Approval(allowed=False, reason=preview.unread)
        is_covered = preview is None or preview.may_last
        argv = preview.argv if preview is not None else None
        by_name = includes(self.allowed.tools, call.name) and is_covered
        by_words = (
            call.name == SHELL
            and argv is not None
            and any(fits(pattern, argv) for pattern in self.allowed.commands)
        )
        by_host = is_covered and preview is not None and preview.host in self.allowed.hosts
        if tool.effect == "read" or by_name or by_words or (by_host and call.name == FETCH):
            return Approval(allowed=True)
        tells = preview is not None and (preview.is_command or preview.host is not None)
        about = preview.parts[0][1] if preview is not None and tells else ""
        if preview is not None and not about:
            about = preview.summary.rstrip(".")
        self.needed.append(clean_line(f"{call.name} {about}".strip())[:_MAX_LENGTH])
        return Approval(allowed=False, reason="It needs an approval, and nobody can give it here.")

    @property
    def sentences(self) -> tuple[str, ...]:
        """What needed an approval, or has to be read first."""
        unread, calls = tuple(dict.fromkeys(self.unread)), list(dict.fromkeys(self.needed))
        if not calls:
            return unread
        more = f" and {len(calls) - _MAX_LISTED} more" if len(calls) > _MAX_LISTED else ""
        listed = "; ".join(calls[:_MAX_LISTED])
        return (*unread, f"Approval was needed, and --allow did not give it: {listed}{more}.")
