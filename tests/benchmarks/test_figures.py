"""How rows become figures, and figures verdicts."""

import json

import pytest

from benchmarks.terminal.__main__ import arguments, chosen, tell
from benchmarks.terminal.cases import DEFAULT, ECHO, GROUPS, STARTUP, document_name
from benchmarks.terminal.figures import (
    FIGURES,
    Figure,
    Measured,
    against_bare,
    longest,
    median_of,
    own_ratio,
    tail_of,
    tail_over,
    worst_of,
)
from benchmarks.terminal.programs import BARE, OLLM
from benchmarks.terminal.report import (
    all_reached,
    documents_table,
    figures_run,
    figures_table,
    programs_table,
)
from benchmarks.terminal.rows import Row, Rows, percentile, row_from
from benchmarks.terminal.suite import Suite

pytestmark = pytest.mark.slow


def started(program: str, *seconds: float) -> list[Row]:
    return [Row(program, STARTUP, at, {"usable_s": value}) for at, value in enumerate(seconds)]


def test_a_ratio_is_taken_within_each_round() -> None:
    # The machine was four times as slow in the second round: both programs were.
    rows = Rows([*started(OLLM, 0.2, 0.8, 0.3), *started(BARE, 0.2, 0.8, 0.2)])
    measured = against_bare(STARTUP, "usable_s", "s")(rows)
    assert measured is not None
    assert measured.figure == pytest.approx(1.0)
    assert measured.theirs == "bare Textual 0.20 s"


def test_a_round_that_failed_counts_for_neither() -> None:
    rows = Rows(
        [
            *started(OLLM, 0.2, 0.4),
            Row(BARE, STARTUP, 0, error="never saw it"),
            Row(BARE, STARTUP, 1, {"usable_s": 0.1}),
        ]
    )
    measured = against_bare(STARTUP, "usable_s", "s")(rows)
    assert measured is not None
    assert measured.figure == pytest.approx(4.0)
    assert rows.errors() == [f"{BARE}, {STARTUP}: never saw it"]


def test_without_the_reference_nothing_is_measured_and_nothing_passes() -> None:
    rows = Rows(started(OLLM, 0.2))
    figure = Figure("start", [STARTUP], against_bare(STARTUP, "usable_s", "s"), 1.3)
    assert figure.verdict(figure.measure(rows)) == "not measured"
    assert not all_reached(rows, [figure])


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
    assert all_reached(rows, [figure]) is (verdict != "MISSED")
    line = figures_table(rows, [figure]).splitlines()[-1]
    assert f"{value:.2f} times" in line
    assert line.split(" | ")[-1].rstrip(" |") == verdict


def test_only_figures_whose_cases_were_run_are_reported() -> None:
    rows = Rows(started(OLLM, 0.2) + started(BARE, 0.2))
    reported = [figure.what for figure in figures_run(rows)]
    assert reported == ["start to usable prompt", "memory after start"]
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
    assert "a peer" not in suite.programs(idle, 0)
    assert suite.seconds([[startup]]) > Suite({}).seconds([[startup]])
