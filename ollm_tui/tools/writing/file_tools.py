"""`write_file`, `edit_file` and `patch_file`: planned, shown as a diff, then done as shown."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Literal

from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import size_text
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.writing.diffs import Diff, diff_of
from ollm_tui.tools.writing.planning import Plan, Planner
from ollm_tui.tools.writing.replacing import Change

TIMEOUT_S: Final = 20.0
_PATH: Final[JsonObject] = {
    "type": "string",
    "description": "The file, relative to the working folder.",
}


def writing_tools(root: Path, guard: FileGuard) -> tuple["FileChanger", ...]:
    """Return the tools that change files below `root`, a real path."""
    planner = Planner(root, guard)
    return (
        FileChanger(
            _schema(
                "write_file",
                "Write a text file: a new one, or all of an existing one. Folders are made.",
                content={"type": "string", "description": "All of the new content."},
            ),
            lambda args: planner.write(_text(args, "path"), _text(args, "content")),
        ),
        FileChanger(
            _schema(
                "edit_file",
                "Replace a text in a file by another. Everything else stays as it is.",
                old_text={
                    "type": "string",
                    "description": "What is replaced, copied exactly, with enough lines around it "
                    "to be there only once.",
                },
                new_text={"type": "string", "description": "What stands in its place."},
                replace_all={
                    "type": "boolean",
                    "description": "Replace it wherever it is.",
                    "default": False,
                },
            ),
            lambda args: planner.edit(
                _text(args, "path"),
                _text(args, "old_text"),
                _text(args, "new_text"),
                replace_all=args.get("replace_all") is True,
            ),
        ),
        FileChanger(
            _schema(
                "patch_file",
                "Change several places of one file with a unified diff.",
                patch={
                    "type": "string",
                    "description": "Hunks that begin with @@ -1,3 +1,4 @@, with three lines "
                    "around each change; lines begin with a space, - or +.",
                },
            ),
            lambda args: planner.patch(_text(args, "path"), _text(args, "patch")),
        ),
    )


def _schema(name: str, description: str, **properties: JsonObject) -> ToolSchema:
    required = [key for key, value in properties.items() if "default" not in value]
    return ToolSchema(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {"path": dict(_PATH), **properties},
            "required": ["path", *required],
            "additionalProperties": False,
        },
    )


def _text(args: JsonObject, name: str) -> str:
    value = args[name]
    assert isinstance(value, str)  # the schema says so
    return value


class FileChanger:
    """A tool that changes one file by a call."""

    effect: ToolEffect = "write"
    timeout_s = TIMEOUT_S

    def __init__(self, schema: ToolSchema, plan: Callable[[JsonObject], Plan]) -> None:
        self.schema = schema
        self._plan = plan

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedChange":
        """Read the file and decide what would be written.

        Raises:
            ToolFailure: it cannot be written so.
        """
        return await to_thread.run_sync(self._prepared, args, scope, abandon_on_cancel=True)

    def _prepared(self, args: JsonObject, scope: CallScope) -> "PreparedChange":
        plan = self._plan(args)
        change = plan.change
        return PreparedChange(self.schema, plan, _diff(change), scope)

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: what is not prepared was not shown."""
        del args
        return ToolOutput("Not run: the change was not prepared.", is_error=True)


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A change that is made exactly as it was planned."""

    schema: ToolSchema
    plan: Plan
    diff: Diff
    scope: CallScope
    effect: Literal["write"] = "write"
    timeout_s: float = TIMEOUT_S

    @property
    def preview(self) -> CallPreview:
        """The diff."""
        change = self.plan.change
        does = "Create" if change.old is None else "Change"
        guarded = " It can run something, so it is always asked about." * self.plan.is_protected
        return CallPreview(
            summary=f"{does} {change.shown}: {self.diff.words}.{guarded}",
            parts=(("exactly this is written", self.diff.text),),
            is_diff=True,
            may_last=not self.plan.is_protected,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Write the file; what the question showed counts, not the arguments."""
        del args
        change, scope = self.plan.change, self.scope
        # Not abandoned when it is cancelled, so that a call that is reported as ended has ended.
        await to_thread.run_sync(
            partial(
                scope.changes.write,
                change,
                scope.call_id,
                scope.prompt_id,
                self.plan.made_folders,
            )
        )
        done = "Created" if change.old is None else "Changed"
        size = size_text(len(change.new or b""))
        return ToolOutput(
            f"{done} {change.shown}: {self.diff.words}; it has {size} now.", display=self.diff.text
        )


def _diff(change: Change) -> Diff:
    old, new = (
        None if content is None else content.decode("utf-8", "replace")
        for content in (change.old, change.new)
    )
    return diff_of(change.shown, old, new)
