"""Write the reference pages and the example settings from the code.

python -m scripts.write_docs
"""

import sys
from pathlib import Path

from ollm_tui.cli.reference import main as write_settings_and_commands
from ollm_tui.tui.keys.keymap import reference_page

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Write them all."""
    (ROOT / "docs" / "reference" / "keys.md").write_text(reference_page(), "utf-8")
    return write_settings_and_commands([str(ROOT)])


if __name__ == "__main__":
    sys.exit(main())
