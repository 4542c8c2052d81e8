"""The states of a download: a machine of rules against the table's own promises."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ollm_tui.library.downloads.job import (
    ENDED,
    TRANSITIONS,
    Job,
    JobError,
    JobEvent,
    ProviderPull,
    can,
    transition,
)

ORIGIN = ProviderPull(provider="local", model="tiny")
EVENTS: tuple[JobEvent, ...] = (
    "start", "finish", "fail", "interrupt", "pause", "resume", "cancel",
)  # fmt: skip


class Download(RuleBasedStateMachine):
    """Any order of events, those out of place among them."""

    def __init__(self) -> None:
        super().__init__()
        self.job = Job(id="1", origin=ORIGIN, title="tiny")
        self.now = 0.0

    @rule(event=st.sampled_from(EVENTS))
    def happens(self, event: JobEvent) -> None:
        before, self.now = self.job, self.now + 1
        trouble = JobError(message="no")
        self.job = transition(before, event, self.now, error=trouble, model="local://tiny")
        if not can(before, event):
            assert self.job is before
            return
        assert self.job.state == TRANSITIONS[before.state][event]
        assert self.job.changed_at == self.now
        assert (self.job.id, self.job.origin, self.job.title) == ("1", ORIGIN, "tiny")

    @rule(completed=st.integers(0, 10**12), total=st.none() | st.integers(1, 10**12))
    def progresses(self, completed: int, total: int | None) -> None:
        if self.job.state == "running":
            self.job = Job(
                id="1", origin=ORIGIN, title="tiny", state="running", note="pulling",
                completed=completed, total=total, bytes_per_s=1.0, seconds_left=1.0,
                changed_at=self.job.changed_at,
            )  # fmt: skip

    @invariant()
    def says_what_fits_its_state(self) -> None:
        job = self.job
        assert (job.error is not None) == (job.state == "failed")
        assert (job.model is not None) == (job.state == "done")
        if job.state != "running":
            assert (job.bytes_per_s, job.seconds_left, job.note) == (None, None, "")
        if job.state == "cancelled":
            assert job.completed == 0
        if job.state == "done" and job.total is not None:
            assert job.completed == job.total
        assert job.fraction is None or 0 <= job.fraction <= 1


TestDownload = Download.TestCase
TestDownload.settings = settings(stateful_step_count=30)


def test_what_is_over_stays_and_only_the_failed_begin_again() -> None:
    again = {state for state in ENDED if TRANSITIONS[state]}
    assert again == {"failed"}


def test_every_state_is_reached_from_the_first() -> None:
    reached, edge = {"queued"}, ["queued"]
    while edge:
        state = edge.pop()
        for after in next(TRANSITIONS[one] for one in TRANSITIONS if one == state).values():
            if after not in reached:
                reached.add(after)
                edge.append(after)
    assert reached == set(TRANSITIONS)
