"""Every file is opened by `config.regular_file`; who opens one otherwise stands here, and why."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "ollm_tui"
WHOLE_READERS = {"read_text", "read_bytes", "write_text", "write_bytes"}
OPENERS = {
    *("connect", "fdopen", "mkfifo", "mmap", "FileIO", "ZipFile", "create_default_context"),
    *("load_verify_locations", "load_cert_chain", "copyfile", "copyfileobj", "copy2", "copy"),
}
MODULES = {"os", "io", "sqlite3", "ssl", "mmap", "zipfile", "shutil", "tomllib", "gzip", "lzma"}

NEW = "a file that is made anew, which fails where anything is in its place"
NULL = "the null device"
FOLDER = "a folder, to make its names last"
CHILD = "a model that the library has read, in a process that can be ended"
OWN = "a file that comes with the program"
ALLOWED = {
    "config/regular_file.py: os.open": "the one way",
    "config/private_file.py: os.open": f"{NEW}; {FOLDER}",
    "shell/supervisor.py: os.open": f"{NULL}; a status of the kernel, by a program of its own",
    "config/private_file.py: os.fdopen": NEW,
    "tui/terminal/copying.py: os.open": NEW,
    "tui/terminal/copying.py: os.fdopen": NEW,
    "tui/crash.py: os.open": NEW,
    "tui/crash.py: os.fdopen": NEW,
    "store/files.py: os.open": NEW,
    "library/starter.py: os.open": NEW,
    "config/new_file.py: os.open": NEW,
    "library/starter.py: os.fdopen": NEW,
    "library/starter.py: zipfile.ZipFile": "what `open_binary` has opened",
    "library/starter.py: archive.open": "a member of an archive that is open",
    "exchange/reading.py: zipfile.ZipFile": "what `open_binary` has opened",
    "exchange/reading.py: archive.open": "a member of an archive that is open",
    "exchange/archive_pictures.py: archive.open": "as above",
    "exchange/sources/sqlite_file.py: sqlite3.connect": "SQLite opens it; `open_binary` did before",
    "config/regular_file.py: os.fdopen": "what was opened above it",
    "frontend/first_frame.py: os.open": "no links, never waits; what is no file is not read",
    "frontend/prompt_history.py: os.fdopen": "what `open_regular` has opened",
    "cli/log.py: os.fdopen": "what `open_regular` has opened",
    "providers/client.py: ssl.create_default_context": "certificates that were read, no file",
    "shell/confined.py: Path(f'/proc/self/{name}').open": "the kernel's, by a program of its own",
    "shell/confined.py: Path('/proc/net/unix').open": "the kernel's list of sockets, likewise",
    "shell/confined.py: os.open": "a place for a rule of the kernel; nothing is read",
    "tools/writing/replacing.py: os.open": "in an open folder: new files, and folders, no links",
    "tools/builtin/root.py: os.open": "walks from the root without links; refuses what is no file",
    "store/connect.py: sqlite3.connect": "SQLite opens it; `require_files` has looked before",
    "store/search/index_file.py: sqlite3.connect": "as above; and one in memory",
    "store/sqlite_pages.py: mmap.mmap": "what `open_binary` has opened",
    "store/copies/files.py: sqlite3.connect": "SQLite opens it; `require_files` has looked before",
    "store/copies/restoring.py: sqlite3.connect": "as above",
    "store/copies/purging.py: sqlite3.connect": "as above, and a copy that is written anew",
    "store/migrate.py: sqlite3.connect": "a copy that is made anew beside the database",
    "providers/embedded/process.py: stat.read_bytes": "what the kernel says of a process",
    "tui/terminal/guard.py: os.open": NULL,
    "tui/terminal/driver.py: os.open": NULL,
    "cli/output.py: os.open": NULL,
    "cli/output.py: open": f"{NULL}, by its descriptor",
    "cli/reference.py: path.read_text": "a page of the documents, when they are written anew",
    "cli/reference.py: path.write_text": "as above",
    "library/registry/known.py: files(__package__).joinpath('models.json').read_text": OWN,
    "store/migrate.py: file.read_text": OWN,
    "tokens/encodings.py: self._folder / 'encodings.json'.read_text": OWN,
    "tokens/encodings.py: self._folder / f'{name}.tiktoken.xz'.read_bytes": OWN,
    "engines/whisper.py: path.open": CHILD,
    "engines/piper.py: model.read_bytes": CHILD,
    "engines/piper.py: beside.read_bytes": CHILD,
    "engines/host.py: os.fdopen": "memory",
    "engines/host.py: path.write_bytes": "a file that is made anew",
    "library/picture_files.py: zipfile.ZipFile": "what `open_binary` has opened",
    "library/picture_files.py: archive.open": "a member of an archive that is open",
    "tui/transcript/thumbnail.py: Image.open": "bytes that were read",
}
NO_FILES = {
    # Chats, screens, sections and pages of their own, by their receivers.
    *(
        "self",
        "page",
        "controller",
        "self.dialogs",
        "self._dialogs",
        "self.downloads",
        "self.current",
        "fetching",
        "self._source",
    ),
    "self._parts.dialogs",
    *("self._maker", "self.opener", "Database", "self._output"),
}


def opened() -> Iterator[str]:
    """Give the module and the call of everything that may open a file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and (call := _opens(node.func)) is not None:
                yield f"{path.relative_to(PACKAGE).as_posix()}: {call}"


def _opens(called: ast.expr) -> str | None:
    match called:
        case ast.Name(id="open"):
            return "open"
        case ast.Attribute(value=receiver, attr="open"):
            name = ast.unparse(receiver)
            return None if name in NO_FILES else f"{name}.open"
        case ast.Attribute(value=receiver, attr=name) if name in WHOLE_READERS:
            return f"{ast.unparse(receiver)}.{name}"
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in MODULES:
            is_reader = module == "tomllib" and name == "load"
            return f"{module}.{name}" if name in OPENERS or is_reader else None
        case _:
            return None


def test_every_file_is_opened_the_same_way() -> None:
    assert set(opened()) == ALLOWED.keys()


HOMES = {"expanduser", "home"}
LOOKS = {"exists", "is_dir", "is_file", "resolve"}
LOOKERS = {
    # They raise where a path may not be looked at, which is told of the file or the folder.
    *("cli/log.py", "config/paths.py"),
    *("store/connect.py", "store/files.py", "store/sqlite_pages.py"),
    # Files that a download has just made, or is about to make.
    *("library/downloads/web_download.py", "library/downloads/transfer.py"),
    "library/starter.py",
    # Names that a folder gave, whose errors are caught; folders of the program itself.
    *("library/model_files.py", "cli/reference.py", "tui/theming/themes.py"),
    # A program of its own, which ends with the error.
    "shell/confined.py",
    # A link that is written through; its errors are caught.
    "attachments/snippets.py",
}


def calls_without_arguments() -> Iterator[tuple[str, str]]:
    """Give the module and the name of every method that is called with nothing."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]):
                    yield path.relative_to(PACKAGE).as_posix(), name


def test_a_home_is_looked_up_in_one_place_which_knows_that_there_may_be_none() -> None:
    assert {module for module, name in calls_without_arguments() if name in HOMES} == {
        "config/paths.py"
    }


def test_a_path_is_looked_at_by_what_never_fails() -> None:
    """`Path.exists` fails for a folder that is locked, `Path.resolve` for links in a circle."""
    assert {module for module, name in calls_without_arguments() if name in LOOKS} == LOOKERS
