"""No time limit hangs on the clock of the system, which may jump; who reads it stands here."""

import ast
from collections.abc import Iterator

from tests.architecture.modules import PACKAGE

SHOWN = "a moment that is shown"
SAVED = "a moment that is saved"
NAME = "a name that no other program has"
HEADER = "a header names a moment from which on the server may be asked again"
READERS = {
    "providers/http_errors.py: datetime.now": HEADER,
    "library/hub/client.py: datetime.now": HEADER,
    "providers/embedded/supervisor.py: time.time": SHOWN,
    "tui/models/screen.py: datetime.now": SHOWN,
    "tui/models/details.py: datetime.now": SHOWN,
    "cli/model_format.py: datetime.now": SHOWN,
    "cli/model_list.py: datetime.now": SHOWN,
    "attachments/made.py: time.time": "compared with the age of a file",
    "providers/embedded/prompt_states.py: time.time": "compared with the age of a file",
    "tui/chat/status/live_line.py: datetime.now": SHOWN,
    "templates/child.py: datetime.now": "a moment that a template asks for",
    "tools/builtin/clock.py: datetime.now": "a moment that a model asks for",
    "tui/chats/search.py: time.time_ns": SHOWN,
    "tui/chats/tree.py: time.time_ns": SHOWN,
    "tui/chats/screen.py: time.time_ns": SHOWN,
    "linear/model_actions.py: datetime.now": SHOWN,
    "library/registry/catalogue.py: time.time": SAVED,
    "frontend/grants.py: time.time": SAVED,
    "library/downloads/job_run.py: time.time": SAVED,
    "frontend/download_news.py: time.time": "which downloads ended since the start, to name them",
    "library/downloads/web_download.py: time.time": SAVED,
    "library/downloads/local_copy.py: time.time": SAVED,
    "store/conversations.py: time.time_ns": SAVED,
    "store/database.py: time.time_ns": NAME,
    "store/copies/daily.py: date.today": "the day of a copy; a clock that went back costs none",
    "chat/tool_check.py: datetime.now": SAVED,
    "library/starter.py: time.time": "the age of a folder that a killed program left, for its file",
}
CLOCKS = {
    *("time.time", "time.time_ns", "time.localtime", "time.ctime"),
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
}


def reads() -> Iterator[str]:
    """Yield the module and the name of everything that reads the system's clock."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in CLOCKS:
                yield f"{path.relative_to(PACKAGE).as_posix()}: {ast.unparse(node)}"
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                names = {f"time.{alias.name}" for alias in node.names}
                assert not names & CLOCKS, "import the module, so that a reader is seen"


def test_only_moments_that_are_shown_or_saved_come_from_the_clock_of_the_system() -> None:
    assert {*reads()} == READERS.keys()
