"""How rows become figures, and figures verdicts."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.terminal.__main__ import arguments, chosen, tell
from benchmarks.terminal.cases import (
    DEFAULT,
    ECHO,
    GROUPS,
    STARTUP,
    Case,
    document_name,
    words_case,
)
from benchmarks.terminal.commands import CODEX
from benchmarks.terminal.figures import FIGURES, LIMITS_SET_AT_S, Figure
from benchmarks.terminal.measuring import (
    Measured,
    against,
    cpu_against_bare,
    longest,
    median_of,
    own_ratio,
    tail_of,
    tail_over,
    worst_of,
)
from benchmarks.terminal.programs import BARE, MAKERS, OLLM
from benchmarks.terminal.quiet import machine_s
from benchmarks.terminal.report import (
    MISSED,
    NOT_JUDGED,
    REACHED,
    documents_table,
    exit_status,
    figures_run,
    figures_table,
    programs_table,
    quiet_report,
)
from benchmarks.terminal.rows import Row, Rows, percentile, row_from
from benchmarks.terminal.scenarios.startup import idle
from benchmarks.terminal.seeds import Seeds
from benchmarks.terminal.suite import Suite

pytestmark = pytest.mark.slow


def started(program: str, *seconds: float) -> list[Row]:
    return [Row(program, STARTUP, at, {"usable_s": value}) for at, value in enumerate(seconds)]


def test_a_ratio_is_taken_within_each_round() -> None:
    # The machine was four times as slow in the second round: both programs were.
    rows = Rows([*started(OLLM, 0.2, 0.8, 0.3), *started(BARE, 0.2, 0.8, 0.2)])
    measured = against(BARE, STARTUP, "usable_s", "s")(rows)
    assert measured is not None
    assert measured.figure == pytest.approx(1.0)
    assert measured.theirs == "bare Textual 0.20 s (0.20 to 0.80)"
    assert measured.low == pytest.approx(1.0)
    assert measured.high == pytest.approx(1.5)


def test_a_round_that_failed_counts_for_neither() -> None:
    rows = Rows(
        [
            *started(OLLM, 0.2, 0.4),
            Row(BARE, STARTUP, 0, error="never saw it"),
            Row(BARE, STARTUP, 1, {"usable_s": 0.1}),
        ]
    )
    measured = against(BARE, STARTUP, "usable_s", "s")(rows)
    assert measured is not None
    assert measured.figure == pytest.approx(4.0)
    assert rows.errors() == [f"{BARE}, {STARTUP}: never saw it"]


def test_without_the_reference_nothing_is_measured_and_nothing_passes() -> None:
    rows = Rows(started(OLLM, 0.2))
    figure = Figure("start", [STARTUP], against(BARE, STARTUP, "usable_s", "s"), 1.3)
    assert figure.verdict(figure.measure(rows)) == "not measured"
    assert exit_status(rows, [figure]) == MISSED


def test_a_percentile_is_of_all_rounds_together() -> None:
    echoes: list[list[float]] = [[1.0] * 99, [80.0] * 2]
    rows = Rows([Row(OLLM, ECHO, at, {"echo_ms": value}) for at, value in enumerate(echoes)])
    measured = tail_of(ECHO, "echo_ms")(rows)
    assert measured is not None
    assert measured.figure == 80.0
    assert percentile([], 0.5) is None
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_growth_is_against_the_program_itself_and_a_stall_is_the_longest() -> None:
    rows = Rows(
        [
            Row(OLLM, "long", 0, {"cpu": 3.0}),
            Row(OLLM, "short", 0, {"cpu": 2.0}),
            Row(OLLM, ECHO, 0, {"stall_ms": 30.0, "stall_cpu_ms": 20.0}),
            Row(OLLM, ECHO, 1, {"stall_ms": 90.0, "stall_cpu_ms": 10.0}),
        ]
    )
    growth = own_ratio("long", "short", "cpu", "ms")(rows)
    assert growth is not None
    assert growth.figure == 1.5
    stall = longest(ECHO)(rows)
    assert stall is not None
    assert stall.figure == 90.0
    scaled = median_of("long", "cpu", "ms", 1000)(rows)
    assert scaled is not None
    assert scaled.figure == 3000.0


@pytest.mark.parametrize(
    ("value", "limit", "verdict"), [(1.3, 1.3, "ok"), (1.31, 1.3, "MISSED"), (99.0, None, "")]
)
def test_a_limit_is_the_most_that_is_good(value: float, limit: float | None, verdict: str) -> None:
    rows = Rows(started(OLLM, value))
    figure = Figure("what", [STARTUP], lambda _: Measured(value, "ours"), limit)
    assert figure.verdict(figure.measure(rows)) == verdict
    assert exit_status(rows, [figure]) == (MISSED if verdict == "MISSED" else REACHED)
    line = figures_table(rows, [figure]).splitlines()[-1]
    assert f"{value:.2f} times" in line
    assert line.split(" | ")[-1].rstrip(" |") == verdict


def test_only_figures_whose_cases_were_run_are_reported() -> None:
    rows = Rows(started(OLLM, 0.2) + started(BARE, 0.2))
    reported = [figure.what for figure in figures_run(rows)]
    assert reported == [
        "start to a typed character",
        "start to a typed character, against codex",
        "memory after start",
    ]
    assert "| ollm | 0.20 |" in programs_table(rows)
    assert programs_table(Rows([Row(OLLM, "idle", 0, {})])) == ""


def test_the_worst_document_is_named_and_all_have_to_be_measured() -> None:
    names = ["document a whole", "document b whole"]
    first = Row(OLLM, names[0], 0, {"stall_ms": 30.0, "abort_ms": [9.0]})
    worst = worst_of(names, "stall_ms", "ms")
    assert worst(Rows([first, Row(OLLM, names[1], 0, error="it ended")])) is None
    rows = Rows([first, Row(OLLM, names[1], 0, {"stall_ms": 70.0, "abort_ms": [90.0]})])
    measured = worst(rows)
    assert measured == Measured(70.0, "70 ms, document b whole")
    tail = tail_over(names, "abort_ms")(rows)
    assert tail is not None
    assert tail.figure == 90.0
    table = documents_table(
        Rows([Row(OLLM, document_name("rules", whole=True), 0, {"shown_s": 1})])
    )
    assert "| rules whole | - | - | - | - | - | 1.00 |" in table
    assert documents_table(rows) == ""


def test_every_figure_can_be_measured_by_a_group() -> None:
    cases = {case.name for group in GROUPS.values() for case in group}
    assert all(cases.issuperset(figure.cases) for figure in FIGURES)
    assert set(DEFAULT) <= set(GROUPS)


def test_a_row_is_a_line_of_json() -> None:
    row = Row(OLLM, STARTUP, 2, {"usable_s": 0.5, "echo_ms": [1.0]})
    assert json.loads(row.line()) == {
        "program": OLLM,
        "case": STARTUP,
        "round": 2,
        "values": {"usable_s": 0.5, "echo_ms": [1.0]},
        "error": "",
        "others": None,
        "load": None,
    }


def test_rows_that_were_kept_give_the_same_tables_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [*started(OLLM, 0.2), *started(BARE, 0.1)]
    again = [row_from(row.line()) for row in rows]
    assert again == rows
    assert tell(Rows(again)) == 1
    assert figures_table(Rows(rows)) in capsys.readouterr().out


def test_the_command_line_chooses_groups_streams_and_rounds() -> None:
    assert len(chosen(arguments([]))) == len(DEFAULT)
    assert chosen(arguments(["idle"])) == [GROUPS["idle"]]
    [[case]] = chosen(arguments(["--stream", "300@20", "--rounds", "2"]))
    assert (case.name, case.rounds) == ("stream 300@20", 2)
    with pytest.raises(SystemExit):
        arguments(["nosuch"])


def test_peers_take_part_in_one_round_of_what_compares_them() -> None:
    suite = Suite({}, ["a peer"])
    [startup], [idle] = GROUPS["startup"], GROUPS["idle"]
    assert "a peer" in suite.programs(startup, 0)
    assert suite.programs(startup, 1) == [OLLM, BARE]
    assert Suite({}, [CODEX, "a peer"]).programs(startup, 1) == [OLLM, BARE, CODEX]
    assert "a peer" not in suite.programs(idle, 0)
    assert suite.seconds([[startup]]) > Suite({}).seconds([[startup]])


def test_a_peer_that_takes_part_once_does_so_where_it_is_installed() -> None:
    case = words_case(50)
    suite = Suite(dict.fromkeys((OLLM, BARE, CODEX), MAKERS[OLLM]), [CODEX])
    assert suite.programs(case, 0) == [OLLM, BARE, CODEX]
    assert suite.programs(case, 1) == [OLLM]
    assert Suite(MAKERS).programs(case, 0) == [OLLM, BARE]


def rounds(figure: float, *others: float | None, load: float | None = 0.1) -> list[Row]:
    """Make a row of the program for each share that others used meanwhile."""
    return [
        Row(OLLM, STARTUP, at, {"usable_s": figure}, others=share, load=load)
        for at, share in enumerate(others)
    ]


FIVE = Figure("start", [STARTUP], median_of(STARTUP, "usable_s", "s"), 1.0, "s", 5)
QUIET = [0.02] * 5


@pytest.mark.parametrize(
    ("rows", "verdict", "status"),
    [
        (rounds(0.5, *QUIET), "ok", REACHED),
        (rounds(1.5, *QUIET), "MISSED", MISSED),
        (rounds(0.5, *[None] * 5), "ok", REACHED),
        (rounds(1.5, *QUIET[:4]), "not judged", NOT_JUDGED),
        (rounds(1.5, *QUIET[:4], 0.4), "not judged", NOT_JUDGED),
        (rounds(0.5, *QUIET, 0.4), "ok", REACHED),
        (rounds(1.5, *QUIET, load=3.0), "not judged", NOT_JUDGED),
    ],
)
def test_a_figure_is_judged_by_five_rounds_of_a_quiet_machine(
    rows: list[Row], verdict: str, status: int
) -> None:
    measured, judged = FIVE.judged(Rows(rows))
    assert measured is not None  # and is told all the same
    assert judged == verdict
    assert exit_status(Rows(rows), [FIVE]) == status


@pytest.mark.parametrize(
    ("unit", "ours", "bare_start_s", "verdict"),
    [
        ("s", 1.9, 2 * LIMITS_SET_AT_S, "not judged"),
        ("s", 2.1, 2 * LIMITS_SET_AT_S, "MISSED"),
        ("s", 0.9, 2 * LIMITS_SET_AT_S, "ok"),
        ("s", 1.1, LIMITS_SET_AT_S / 2, "MISSED"),
        ("times", 1.9, 2 * LIMITS_SET_AT_S, "MISSED"),
    ],
)
def test_a_slow_machine_does_not_miss_a_limit_in_seconds(
    unit: str, ours: float, bare_start_s: float, verdict: str
) -> None:
    rows = Rows([*rounds(ours, *QUIET), *started(BARE, *[bare_start_s] * 5)])
    assert replace(FIVE, unit=unit).judged(rows)[1] == verdict
    is_slow = bare_start_s > LIMITS_SET_AT_S
    assert ("This machine is 2.0 times as slow" in quiet_report(rows)) == is_slow


@pytest.mark.parametrize(("frames", "verdict"), [(100.0, "MISSED"), (50.0, "not judged")])
def test_a_reference_that_skips_frames_is_no_measure(frames: float, verdict: str) -> None:
    rows = Rows(
        [
            Row(name, "stream", at, {"cpu_ms_per_token": cpu, "frames": drawn}, load=0.1)
            for name, cpu, drawn in ((OLLM, 2.0, 100.0), (BARE, 10.0, frames))
            for at in range(5)
        ]
    )
    figure = Figure("CPU", ["stream"], cpu_against_bare("stream"), 0.15, rounds=5)
    assert figure.judged(rows)[1] == verdict
    assert replace(figure, limit=0.2).judged(rows)[1] == "ok"


def test_a_noisy_round_counts_for_no_program() -> None:
    mine = rounds(0.2, 0.0, 0.0)
    theirs = [Row(BARE, STARTUP, at, {"usable_s": 0.1}, others=at * 0.3) for at in range(2)]
    left = Rows([*mine, *theirs]).quiet()
    assert {(row.program, row.round) for row in left.all} == {(OLLM, 0), (BARE, 0)}


class Noisy(Suite):
    """Rows of a machine that others used in some rounds."""

    def __init__(self, load: float, *noisy: int) -> None:
        super().__init__({})
        self._load, self._noisy = load, noisy

    def _load_once(self, groups: Sequence[Sequence[Case]]) -> None:
        """Start nothing."""

    def _row(self, case: Case, name: str, at: int, seeds: Seeds) -> Row:
        return Row(name, case.name, at, others=0.5 if at in self._noisy else 0.0)


@pytest.mark.parametrize(
    ("suite", "rounds"),
    [(Noisy(0.1), 2), (Noisy(0.1, 1), 3), (Noisy(0.1, 1, 2), 4), (Noisy(2.0, 1), 2)],
)
def test_a_noisy_round_is_repeated_where_it_could_be_judged(suite: Noisy, rounds: int) -> None:
    case = Case(name="one", scenario=idle, rounds=2, programs=(OLLM,), seconds=1)
    longer = replace(case, name="longer", rounds=3)
    rows = Rows(list(suite.run([[case, longer]])))
    assert rows.rounds("one", OLLM) == rounds
    assert rows.rounds("longer", OLLM) == rounds + 1
    assert max(row.round for row in Rows(list(Noisy(0.1, *range(99)).run([[case]]))).all) == 4


def test_it_is_told_why_nothing_is_judged() -> None:
    assert quiet_report(Rows(rounds(0.5, *QUIET))) == ""
    assert "the load was 3.0 before the run" in quiet_report(Rows(rounds(0.5, *QUIET, load=3.0)))
    assert "in 1 of 2 runs, up to 40%" in quiet_report(Rows(rounds(0.5, 0.4, 0.0)))


def test_a_peer_that_is_not_installed_fails_no_figure() -> None:
    ratio = against(CODEX, STARTUP, "usable_s", "s")
    figure = Figure("start", [STARTUP], ratio, 1.0, rival=CODEX)
    alone = Rows(rounds(0.5, *QUIET))
    assert figure.judged(alone) == (None, "not there")
    assert exit_status(alone, [figure]) == REACHED
    failed = Rows([*rounds(0.5, *QUIET), Row(CODEX, STARTUP, 0, error="it ended")])
    assert figure.judged(failed) == (None, "not measured")
    assert exit_status(failed, [figure]) == MISSED


def test_the_machine_is_counted_without_its_idle_time() -> None:
    text = "cpu  300 10 90 9999 500 5 5 10 40 0\ncpu0 1 1 1 1\n"
    ticks = os.sysconf("SC_CLK_TCK")
    assert machine_s(text) == pytest.approx(420 / ticks)
    assert machine_s("cpu  0 0 0 0 0 0 0 0 0 0\n") is None
    assert machine_s("") is None
