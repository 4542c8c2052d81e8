"""Measure what the runtime core's own tests reach of it.

    python -m scripts.runtime_coverage

Each of `chat`, `decode`, `tools` and `tokens` has to come to 95 % of its lines and 90 % of its
branches; what was not reached is listed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("chat", "decode", "tools", "tokens")
LINES, BRANCHES = 95.0, 90.0


def run(*arguments: str, data: Path) -> int:
    """Run coverage's own program."""
    command = [sys.executable, "-m", "coverage", *arguments]
    environ = os.environ | {"COVERAGE_FILE": str(data)}
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


def totals(report: Path) -> dict[str, tuple[float, float]]:
    """Return the shares of lines and of branches that were reached, by package."""
    counts = {package: [0, 0, 0, 0] for package in PACKAGES}
    for name, file in json.loads(report.read_text("utf-8"))["files"].items():
        summary = file["summary"]
        count = counts[Path(name).parts[1]]
        count[0] += summary["covered_lines"]
        count[1] += summary["num_statements"]
        count[2] += summary["covered_branches"]
        count[3] += summary["num_branches"]
    return {
        package: (100 * lines / all_lines, 100 * branches / all_branches)
        for package, (lines, all_lines, branches, all_branches) in counts.items()
    }


def main() -> int:
    """Run the tests, print the shares, and fail when one is too small."""
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder) / "data", Path(folder) / "report.json"
        tests = (f"tests/{package}" for package in PACKAGES)
        if failed := run("run", "-m", "pytest", "-q", *tests, *sys.argv[1:], data=data):
            return failed
        run("report", "--skip-covered", "--show-missing", data=data)
        run("json", "--quiet", f"-o{report}", data=data)
        shares = totals(report)
    for package, (lines, branches) in shares.items():
        print(f"{package:8} lines {lines:5.1f} %   branches {branches:5.1f} %")
    print(f"at least {LINES} % of lines and {BRANCHES} % of branches")
    enough = all(lines >= LINES and branches >= BRANCHES for lines, branches in shares.values())
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
