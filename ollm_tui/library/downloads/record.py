"""A download as it is kept in a file: how it stood, without the speed and without secrets."""

from typing import Final, get_args

from ollm_tui.library.downloads.job import Job, JobError, JobState
from ollm_tui.library.downloads.origin_record import origin_from_record, origin_to_record
from ollm_tui.library.downloads.record_fields import (
    count_or_none,
    mapping,
    seconds,
    text,
    text_or_none,
)
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

FORMAT: Final = 1


class OtherVersion(ValueError):
    """An older or newer program wrote this; it is not damaged."""


def to_record(job: Job) -> JsonObject:
    """Give what is kept of a job."""
    trouble = job.trouble
    return {
        "format": FORMAT,
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "note": job.note,
        "completed": job.completed,
        "total": job.total,
        "trouble": None if trouble is None else {"message": trouble.message, "hint": trouble.hint},
        "model": job.model,
        "changed_at": job.changed_at,
        "origin": origin_to_record(job.origin),
    }


def from_record(value: JsonValue) -> tuple[Job, bool]:
    """Read a job, and whether nothing of its origin was kept back.

    Raises:
        OtherVersion: this is one for another program.
        ValueError: this is none.
    """
    record = mapping(value, "download")
    if record.get("format") != FORMAT:
        raise OtherVersion("of another version")
    origin, is_whole = origin_from_record(mapping(record.get("origin"), "origin"))
    trouble = record.get("trouble")
    job = Job(
        id=text(record, "id"),
        origin=origin,
        title=text(record, "title"),
        state=_state_of(text(record, "state")),
        note=text(record, "note"),
        completed=count_or_none(record, "completed") or 0,
        total=count_or_none(record, "total"),
        trouble=None if trouble is None else _trouble_of(mapping(trouble, "trouble")),
        model=text_or_none(record, "model"),
        changed_at=seconds(record, "changed_at"),
    )
    return job, is_whole


def _trouble_of(record: JsonMapping) -> JobError:
    return JobError(message=text(record, "message"), hint=text_or_none(record, "hint"))


def _state_of(name: str) -> JobState:
    states: tuple[JobState, ...] = get_args(JobState)
    for state in states:
        if state == name:
            return state
    raise ValueError("a state that there is not")
