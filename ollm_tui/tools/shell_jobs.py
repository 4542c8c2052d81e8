"""`shell_job`: the output of a command that runs in the background, or its end."""

from typing import Final

import anyio

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.shell.jobs import BackgroundJobs, Job
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope

MAX_WAIT_S: Final = 30
_LOOK_S: Final = 0.1
_SCHEMA: Final = ToolSchema(
    name="shell_job",
    description="Read what a command in the background has printed since you read it last, or stop "
    "it. `shell` with `background` returns its number.",
    parameters={
        "type": "object",
        "properties": {
            "job": {"type": "integer", "minimum": 1, "description": "The number of the command."},
            "wait_s": {
                "type": "number",
                "minimum": 0,
                "maximum": MAX_WAIT_S,
                "default": 0,
                "description": "How long to wait for new output or the end, in seconds.",
            },
            "stop": {
                "type": "boolean",
                "default": False,
                "description": "End it with all that it started.",
            },
        },
        "required": ["job"],
        "additionalProperties": False,
    },
)


class ShellJobTool:
    """Follows up on commands that were allowed before, and does nothing else."""

    schema = _SCHEMA
    effect: ToolEffect = "read"
    timeout_s = MAX_WAIT_S + 15.0
    belongs_to: Final = "shell"
    """Offered together with this tool."""

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedFollowUp":
        """Find the command.

        Raises:
            ToolFailure: there is none with that number.
        """
        number, wait_s = args["job"], args.get("wait_s", 0)
        job = scope.jobs.get(number) if isinstance(number, int) else None
        if job is None:
            listed = ", ".join(str(one.number) for one in scope.jobs.listed) or "none"
            raise ToolFailure(f"No command in the background has this number. There are: {listed}.")
        wait = float(wait_s) if isinstance(wait_s, int | float) else 0.0
        return PreparedFollowUp(scope.jobs, job, wait, args.get("stop") is True)

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: a call is prepared first."""
        del args
        return ToolOutput("Not run: the call was not prepared.", is_error=True)


@dataclass(frozen=True, slots=True)
class PreparedFollowUp:
    """One look at a command in the background."""

    jobs: BackgroundJobs
    job: Job
    wait_s: float
    stops: bool
    schema: ToolSchema = _SCHEMA
    effect: ToolEffect = "read"
    timeout_s: float = ShellJobTool.timeout_s

    @property
    def preview(self) -> CallPreview:
        """Which command it is about."""
        what = "Stops" if self.stops else "Reads the output of"
        return CallPreview(
            summary=f"{what} a command that runs in the background.",
            parts=(("command", self.job.command),),
            follows_up=True,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Stop it, or wait, and return what is new."""
        del args
        if self.stops:
            self.jobs.stop(self.job.number)
        await wait_for_news(self.job, MAX_WAIT_S if self.stops else self.wait_s, self.stops)
        return ToolOutput(report_of(self.job))


async def wait_for_news(job: Job, seconds: float, until_end: bool = False) -> None:
    """Wait until a command has ended, or has printed something."""
    with anyio.move_on_after(seconds):
        # a thread takes the output
        while job.is_running and (until_end or not job.unread.size):  # noqa: ASYNC110
            await anyio.sleep(_LOOK_S)


def report_of(job: Job) -> str:
    """Return how a command is, and what it has printed since the last report."""
    state = f"runs for {job.seconds:.0f} s" if job.is_running else f"has ended: {job.words}"
    unread = job.read().rstrip("\n")
    return f"Command {job.number} {state}\n{unread or 'It printed nothing new.'}"
