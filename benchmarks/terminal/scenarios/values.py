"""What a scenario gives: numbers by name."""

from typing import TypeAlias

from benchmarks.terminal.run import Run

Values: TypeAlias = dict[str, float | list[float]]


def memory(run: Run) -> Values:
    """Give the resident memory of the program and all it started, in MB."""
    resident, peak = run.session.tree.memory_mb()
    return {"memory_mb": resident, "peak_mb": peak}
