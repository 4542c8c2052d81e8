"""Plant bugs in the runtime core, one at a time, and see which its tests catch.

    python -m scripts.mutants [SEED] [HOW_MANY]

The bugs are Cosmic Ray's, drawn by a seed that is printed. All happens in a copy of the checkout.
A bug that no test catches is shown: either a test is missing, or the program does the same.
Changes of `|` are not drawn, since nearly all of them stand in types.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("chat", "decode", "tools", "tokens")
RECORDED = "shared"
"""Recorded answers that some tests read, beside the checkout."""
HOW_MANY = 20
MAX_MISSED = 1
NOT_DRAWN = "core/ReplaceBinaryOperator_BitOr_"
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")


def all_mutations() -> list[MutationSpec]:
    """Return every bug that can be planted, in an order that depends on the code alone."""
    paths = [path for package in PACKAGES for path in Path("ollm_tui", package).rglob("*.py")]
    with (
        tempfile.TemporaryDirectory() as folder,
        use_db(str(Path(folder) / "work.sqlite"), WorkDB.Mode.create) as database,
    ):
        init(sorted(paths), database, {})
        mutations = [item.mutations[0] for item in database.work_items]
    drawn = [mutation for mutation in mutations if not mutation.operator_name.startswith(NOT_DRAWN)]
    return sorted(drawn, key=lambda m: (str(m.module_path), m.operator_name, m.occurrence))


def test_command(first: str) -> list[str]:
    """Return the command that runs the tests of all packages, those of one first."""
    packages = [first, *(package for package in PACKAGES if package != first)]
    tests = [f"tests/{package}" for package in packages]
    return [sys.executable, "-m", "pytest", "-x", "-q", *tests]


def seconds_untouched() -> float:
    """Run the tests without any bug: they have to pass, and their time bounds that of a bug."""
    began = time.monotonic()
    done = subprocess.run(test_command(PACKAGES[0]), check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the tests fail without a bug:\n{done.stdout[-3000:]}")
    return time.monotonic() - began


def plant(mutation: MutationSpec, limit_s: float) -> tuple[str, str]:
    """Run the tests with one bug; return the outcome, and the bug as a diff."""
    package = mutation.module_path.parts[1]
    result = mutate_and_test([mutation], " ".join(test_command(package)), limit_s)
    if not result.is_killed:
        return "missed", result.diff or ""
    return ("no end" if result.output == "timeout" else "caught"), result.diff or ""


def place(mutation: MutationSpec) -> str:
    line = mutation.start_pos[0]
    return f"{mutation.module_path}:{line} {mutation.operator_name.removeprefix('core/')}"


def report(mutations: Sequence[MutationSpec]) -> int:
    """Plant one bug after another; return how many were missed."""
    untouched = seconds_untouched()
    print(f"the tests alone take {untouched:.0f} s", flush=True)
    missed = 0
    for number, mutation in enumerate(mutations, 1):
        began = time.monotonic()
        outcome, diff = plant(mutation, 4 * untouched + 60)
        print(f"{number:3} {outcome:7} {time.monotonic() - began:5.0f} s  {place(mutation)}")
        if outcome == "missed":
            missed += 1
            print(diff)
        sys.stdout.flush()
    return missed


def main() -> int:
    """Draw the bugs, plant them, and fail when more than one is missed."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    how_many = int(sys.argv[2]) if len(sys.argv) > 2 else HOW_MANY
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        (copy.parent / RECORDED).symlink_to(ROOT.parent / RECORDED)
        with chdir(copy):
            everything = all_mutations()
            drawn = random.Random(seed).sample(everything, how_many)
            print(f"seed {seed}: {how_many} of {len(everything)} bugs", flush=True)
            missed = report(drawn)
    print(f"{how_many - missed} of {how_many} caught (seed {seed})")
    return 0 if missed <= MAX_MISSED else 1


if __name__ == "__main__":
    sys.exit(main())
