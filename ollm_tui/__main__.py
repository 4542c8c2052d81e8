"""`python -m ollm_tui`: the same as the command `ollm`."""

import sys
from pathlib import Path

if not sys.flags.safe_path and sys.path and Path(sys.path[0]) == Path.cwd():
    # `-m` puts the current directory first: a file there must not pose as a library.
    del sys.path[0]

from ollm_tui.cli import main

sys.exit(main())
