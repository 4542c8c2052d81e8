"""No tool gives a secret to a model, wherever it lies, however it is named and asked for."""

import base64
import gzip
import json
import os
import string
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.runtime.private import file_guard
from ollm_tui.tools.builtin import builtin_tools, read_file
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolOffer, ToolRunner
from tests.hostile.secret_files import ORDINARY, PLACES, copies
from tests.support.seeds import in_parts
from tests.support.tools import AllowAll, tool_call

pytestmark = pytest.mark.slow

KEY = "sk-planted/Canary+4711-0815xyz"
HUB_TOKEN = "hf_PlantedHubToken0815"
HEADER = "team-Planted-Header-4711-abc"
CANARY = "the canary of this place"
SETTINGS = f"""
[hub]
token = "{HUB_TOKEN}"
[providers.planted]
base_url = "http://127.0.0.1:1"
api_key = "{KEY}"
headers = {{ "X-Team" = "{HEADER}", "Accept" = "application/json" }}
[providers.plain]
base_url = "http://127.0.0.1:2"
api_key = "ollama"
[providers.variable]
base_url = "http://127.0.0.1:3"
api_key_env = "WORK_VARIABLE"
"""
VARIABLE = "variable-Planted-0815"
HELD = (KEY, HUB_TOKEN, HEADER, VARIABLE)


@dataclass
class Home:
    """A home with settings, and the tools of a program that runs there."""

    path: Path
    config_path: Path | None = None
    calls: Iterator[int] = field(default_factory=count)

    @property
    def settings(self) -> Path:
        return self.config_path or default_paths().config_file

    def put(self, name: str, data: str | bytes = CANARY) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return file

    def runner(self, root: Path | None = None) -> ToolOffer:
        paths = default_paths()
        loaded = load_config(paths, os.environ, Flags(config_path=self.config_path))
        guard = file_guard(loaded, paths)
        tools = builtin_tools(root or self.path, guard)
        runner = ToolRunner(ToolRegistry(tools), AllowAll(), redact=guard.cleaned)
        return runner.offer([tool.schema.name for tool in tools])

    async def output(self, name: str, root: Path | None = None, **args: JsonValue) -> str:
        return (await self.runner(root).run(tool_call(name, args))).content

    async def everything(
        self,
        path: str,
        root: Path | None = None,
        runner: ToolOffer | None = None,
        ways: int | None = None,
    ) -> str:
        """Give all that the tools tell of a path, in every way of asking or the first ones."""
        folder, _, name = path.rstrip("/").rpartition("/")
        asked: list[tuple[str, dict[str, JsonValue]]] = [
            ("read_file", {"path": path}),
            ("search_files", {"pattern": "(?i).", "path": path, "mode": "regex"}),
            ("list_directory", {"path": path, "include_hidden": True}),
            ("read_file", {"path": path, "start_line": 2, "line_count": 1}),
            ("search_files", {"pattern": "a", "path": path}),
            ("search_files", {"pattern": "a", "path": folder or ".", "glob": name}),
        ]
        runner = runner or self.runner(root)
        results = [
            await runner.run(tool_call(tool, args, id=f"call {next(self.calls)}"))
            for tool, args in asked[:ways]
        ]
        return "\n".join(result.content for result in results)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    folder = tmp_path.resolve() / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.delenv("OLLM_CONFIG", raising=False)
    monkeypatch.setenv("WORK_VARIABLE", VARIABLE)
    planted = Home(folder)
    paths = default_paths()
    for place in (paths.config_dir, paths.data_dir, paths.state_dir, paths.cache_dir):
        place.mkdir(parents=True, exist_ok=True)
        (place / "own.txt").write_text(CANARY)
    planted.settings.write_text(SETTINGS + f"\n# {CANARY}\n")
    return planted


def test_there_are_as_many_places_as_promised() -> None:
    assert len({*PLACES}) + len({*copies()}) >= 500
    assert len({*PLACES}) >= 200
    assert len({*ORDINARY}) >= 80


@pytest.mark.parametrize("places", [PLACES, tuple(copies())], ids=["places", "copies"])
@in_parts(4)
async def test_no_known_place_of_secrets_is_reported(
    home: Home, places: Sequence[str], part: int
) -> None:
    runner = home.runner()
    leaked, unexplained = [], []
    for place in places[part::4]:
        file = home.put(place)
        output = await home.everything(place, runner=runner, ways=3)
        leaked += [place] if CANARY in output else []
        unexplained += [place] if "passwords or keys" not in output else []
        file.unlink()
    assert leaked == []
    assert unexplained == []


async def test_a_search_of_the_whole_home_passes_all_of_them_over(home: Home) -> None:
    for place in PLACES:
        with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            home.put(place)
    home.put("notes.txt", f"{CANARY}, of no importance")
    for mode in ("text", "regex"):
        output = await home.output("search_files", pattern="canary of", mode=mode)
        assert output.splitlines()[0] == f"notes.txt:1: {CANARY}, of no importance"
        assert output.splitlines()[1].startswith("[1 matching line in ")


async def test_what_only_looks_like_a_secret_is_reported(home: Home) -> None:
    text = "plain text about ollama and application/json"
    refused = []
    runner = home.runner()
    for name in ORDINARY:
        file = home.put(name, text)
        result = await runner.run(tool_call("read_file", {"path": name}, id=name))
        refused += [name] if result.content != text else []
        file.unlink()
    assert refused == []


OWN = ("config/ollm/own.txt", "local/share/ollm/own.txt", "local/state/ollm/own.txt")
SPELLINGS = (
    "{own}",
    "./{own}",
    "{home}/{own}",
    "//{home}//{own}",
    "sub/../{own}",
    "{folder}/../{last}/own.txt",
    "{folder}/./own.txt",
    "{folder}/sub/../own.txt",
    "linked file",
    "linked folder/own.txt",
    "linked folder/../{last}/own.txt",
    "linked twice/own.txt",
    "hard link",
    "/proc/self/root/{home}/{own}",
    "/proc/self/cwd/{own}",
    "/proc/thread-self/root{home}/{own}",
    "{folder}",
    "linked folder",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("own", [f".{place}" for place in OWN] + [".cache/ollm/own.txt"])
async def test_the_programs_own_folders_are_out_of_reach(home: Home, own: str) -> None:
    folder = home.path / own.removesuffix("/own.txt")
    (home.path / "sub").mkdir()
    (folder / "sub").mkdir()
    (home.path / "linked file").symlink_to(own)
    (home.path / "linked folder").symlink_to(folder)
    (home.path / "linked twice").symlink_to("linked folder")
    (home.path / "hard link").hardlink_to(home.path / own)
    below, leaked = str(folder.relative_to(home.path)), []
    for root in (home.path, Path("/")):
        runner = home.runner(root)
        for spelling in SPELLINGS:
            path = spelling.format(own=own, home=home.path, folder=below, last=folder.name)
            for asked in (f"{home.path}/{path}", *([path] if root == home.path else [])):
                output = await home.everything(asked, runner=runner)
                leaked += [asked] if CANARY in output else []
    assert leaked == []


async def test_no_root_opens_the_programs_own_folders(home: Home) -> None:
    paths = default_paths()
    (home.path / "link").symlink_to(paths.config_dir)
    inner = paths.data_dir / "models" / "deep"
    inner.mkdir(parents=True)
    (inner / "own.txt").write_text(CANARY)
    roots = (paths.config_dir, paths.data_dir, paths.state_dir, paths.cache_dir, inner)
    for root in (*roots, home.path / "link"):
        output = await home.everything("own.txt", root)
        assert CANARY not in output
        assert f"{root.resolve()}".startswith(str(home.path))
        assert "is not given to a model" in output


async def test_folders_moved_by_the_environment_are_out_of_reach(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home.path / "project" / kind.lower()))
        home.put(f"project/{kind.lower()}/ollm/own.txt")
        home.put(f"project/{kind.lower()}/other/own.txt", "of another program")
    for kind in ("config", "data", "state", "cache"):
        assert CANARY not in await home.everything(f"project/{kind}/ollm/own.txt")
        assert await home.output("read_file", path=f"project/{kind}/other/own.txt") == (
            "of another program"
        )


COPIES_OF_SETTINGS = (
    "work.toml",
    "work.toml~",
    "work.toml.bak",
    "work.toml.orig.2",
    "#work.toml#",
    ".work.toml.swp",
    "work (1).toml",
    "work copy.toml",
    "Copy of work.toml",
    "work.toml.2024-01-31",
    "work-old.toml",
    "WORK.toml",
)


@pytest.mark.parametrize("by", ["flag", "variable"])
async def test_settings_elsewhere_and_copies_beside_them_are_out_of_reach(
    home: Home, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = home.put("project/work.toml", SETTINGS + f"\n# {CANARY}\n")
    if by == "variable":
        monkeypatch.setenv("OLLM_CONFIG", str(moved))
    there = Home(home.path, config_path=moved if by == "flag" else None)
    runner, leaked = there.runner(), []
    for name in COPIES_OF_SETTINGS:
        there.put(f"project/{name}")
        output = await there.everything(f"project/{name}", runner=runner)
        leaked += [name] if CANARY in output else []
    assert leaked == []
    there.put("project/other.toml", "another file")
    assert await there.output("read_file", path="project/other.toml") == "another file"


async def test_settings_that_are_linked_elsewhere_are_out_of_reach_there_too(home: Home) -> None:
    kept = home.put("dots/ollm.toml", SETTINGS + f"\n# {CANARY}\n")
    home.settings.unlink()
    home.settings.symlink_to(kept)
    assert CANARY not in await home.everything("dots/ollm.toml")


async def test_the_hubs_token_is_out_of_reach_where_a_variable_has_put_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.put("project/hub.txt")
    monkeypatch.setenv("HF_TOKEN_PATH", str(file))
    assert CANARY not in await home.everything("project/hub.txt")


async def test_other_names_of_known_secrets_are_recognised(home: Home) -> None:
    home.put(".ssh/work")
    (home.path / "hard.txt").hardlink_to(home.path / ".ssh" / "work")
    kept = home.put("dots/hosts.txt")
    (home.path / ".netrc").symlink_to(kept)
    home.put("dots/gitcreds/x.txt")
    (home.path / ".config" / "gh").symlink_to(home.path / "dots" / "gitcreds")
    for path in ("hard.txt", "dots/hosts.txt", ".netrc", "dots/gitcreds/x.txt"):
        assert CANARY not in await home.everything(path)
    (home.path / "own.txt").write_text("a file of two names")
    (home.path / "twin.txt").hardlink_to(home.path / "own.txt")
    assert await home.output("read_file", path="twin.txt") == "a file of two names"


def forms(secret: str) -> Iterator[tuple[str, bytes]]:
    data = secret.encode()
    yield "plain", data
    yield "upper case", secret.upper().encode()
    yield "swapped case", secret.swapcase().encode()
    yield "backwards", data[::-1]
    yield "url", quote(secret, safe="").encode()
    yield "url twice", quote(quote(secret, safe=""), safe="").encode()
    yield "url, every letter", "".join(f"%{byte:02x}" for byte in data).encode()
    yield "json", "".join(f"\\u{byte:04x}" for byte in data).encode()
    yield "html", "".join(f"&#{byte};" for byte in data).encode()
    yield "hexadecimal", data.hex().encode()
    yield "hexadecimal, spaced", data.hex(" ").encode()
    for before in range(3):
        yield f"base64 behind {before}", base64.b64encode(b"x" * before + data + b"y")
    yield "base64 for urls", base64.urlsafe_b64encode(data)
    yield "base64 in lines", base64.encodebytes(data * 3)
    for before in range(5):
        yield f"base32 behind {before}", base64.b32encode(b"x" * before + data + b"y")
    yield "base64 twice", base64.b64encode(base64.b64encode(data))
    yield "base64 twice, behind a name", base64.b64encode(b"me:" + base64.b64encode(data))
    yield "octal", "".join(f"\\{byte:03o}" for byte in data).encode()
    yield "numbers", ", ".join(map(str, data)).encode()
    yield "hexadecimal numbers", ", ".join(map(hex, data)).encode()
    yield "bits", " ".join(f"{byte:08b}" for byte in data).encode()
    yield "javascript", "".join(f"\\u{{{byte:x}}}" for byte in data).encode()
    yield "python", "".join(f"\\U{byte:08x}" for byte in data).encode()
    yield "over two lines", data[:9] + b"\n" + data[9:]
    yield "over many lines", b"\n    ".join(data[at : at + 3] for at in range(0, len(data), 3))
    yield "put together", b'"' + data[:8] + b'" + "' + data[8:] + b'"'
    yield "utf-16", secret.encode("utf-16")
    yield "behind NUL", b"\0" + data
    yield "invisible letters", "\u200b".join(secret).encode()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("secret", HELD)
async def test_a_key_that_the_program_holds_leaves_in_no_form(home: Home, secret: str) -> None:
    runner, leaked = home.runner(), []
    for name, data in forms(secret):
        content = b"first line\nkey " + data + b" end\n" + b"more\n" * 3
        home.put("src/notes.txt", content)
        output = await home.everything("src/notes.txt", runner=runner)
        leaked += [name] if "end" in output or "holds a key" not in output else []
        for number in range(1, content.count(b"\n") + 1):
            args: dict[str, JsonValue] = {"path": "src/notes.txt", "start_line": number}
            part = await runner.run(tool_call("read_file", args, id=f"{name} {number}"))
            leaked += [f"{name}, line {number}"] if "holds a key" not in part.content else []
    assert leaked == []


async def test_a_pattern_learns_nothing_about_a_key(home: Home) -> None:
    home.put("notes.txt", f"key={KEY}\n")
    home.put("other.txt", "nothing\n")
    asked = (KEY[:4], KEY[:9], "nowhere", "planted", "key=")
    answers = {await home.output("search_files", pattern=pattern) for pattern in asked}
    answers |= {
        await home.output("search_files", pattern=pattern, mode="regex")
        for pattern in ("^key=sk-[a-p]", "^key=sk-[q-z]", "Canary.4", "Canary.5")
    }
    assert answers == {"[0 matching lines in 1 file of .; 1 file with keys passed over]"}


def guesses(part: str) -> Iterator[str]:
    letters = string.ascii_lowercase + string.digits
    yield from (f"{letter}{part}" for letter in letters)


async def test_no_result_tells_whether_a_part_of_a_key_was_guessed(home: Home) -> None:
    letters = "".join(letter for letter in KEY.lower() if letter.isalnum())
    runner, known = home.runner(), letters[:9][::-1]
    for ending in (letters[-10:], letters[:10][::-1]):
        (home.path / ending).mkdir()
        assert "«key»" not in await home.everything(ending, runner=runner)
    answers = {
        (await home.output("read_file", path=guess)).replace(guess, "GUESS")
        for guess in (*guesses(known), *guesses(letters[-9:]))
        if not (home.path / guess).exists()
    }
    assert answers == {"GUESS does not exist."}


async def test_a_key_at_the_end_of_what_is_read_is_not_given_in_part(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 2 * 1024 * 1024
    monkeypatch.setattr(read_file, "MAX_SCANNED_BYTES", most)
    monkeypatch.setattr(read_file, "MAX_SCANNED_BYTES", most)
    for kept in (1, 10, len(KEY) - 1):
        before = most - len("key ") - kept
        home.put("large.txt", "x\n" * (before // 2) + "\n" * (before % 2) + f"key {KEY}\nend\n")
        output = await home.output("search_files", pattern="key")
        assert output == "[0 matching lines in 0 files of .; 1 file with keys passed over]"
        output = await home.output("read_file", path="large.txt", start_line=before // 2)
        assert "holds a key" in output


async def test_of_a_file_that_is_no_text_only_its_kind_is_reported(home: Home) -> None:
    ec_key = bytes.fromhex("30770201010420") + bytes(range(7, 39)) + bytes(80)
    for data in (gzip.compress(KEY.encode(), mtime=0), ec_key, b"\0" + os.urandom(400)):
        home.put("data.bin", data)
        output = await home.output("read_file", path="data.bin")
        assert output.endswith(f"It begins with: {data[:8].hex(' ')}]")


async def test_a_folder_does_not_name_places_of_secrets(home: Home) -> None:
    for name in (".ssh/id_rsa_of_the_bank", ".env", "creds.json", ".git/config", "notes.txt"):
        home.put(name)
    (home.path / ".netrc").symlink_to("nowhere")
    assert await home.output("list_directory", include_hidden=True) == (
        ".cache/\n.config/\n.git/\n.local/\nnotes.txt 24\n"
        "[.: 5 entries, 4 not named that may hold passwords or keys]"
    )
    assert await home.output("list_directory") == (
        "notes.txt 24\n[.: 1 entry, 7 hidden, 1 not named that may hold passwords or keys]"
    )
    assert await home.output("list_directory", path=".config") == (
        "[.config: 0 entries, 1 not named that may hold passwords or keys]"
    )


BODY = "\n".join(["MIIEpAIBAAKCAQEA" + "q" * 48] * 5)
PRIVATE_KEYS = (
    f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----\n",
    f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\r\n{BODY}\r\n-----END OPENSSH PRIVATE KEY-----\r\n",
    f"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\n{BODY}\n",
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{BODY}\n",
    f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{BODY}\n",
    f'{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{BODY[:64]}\\n{BODY[:64]}\\n"}}',
    f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 4\n{BODY}\n",
    "AGE-SECRET-KEY-1" + "Q" * 58,
    "client-key-data: "
    + base64.b64encode(f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}".encode()).decode(),
)


PEM = PRIVATE_KEYS[0]
REWRITTEN = {
    "commented": PEM.replace("\n", "\n# "),
    "commented in c": PEM.replace("\n", "\n// "),
    "answered": PEM.replace("\n", "\n> "),
    "taken away": "-" + PEM.replace("\n", "\n-"),
    "added": "+" + PEM.replace("\n", "\n+"),
    "numbered": "\n".join(f"{number:4}  {line}" for number, line in enumerate(PEM.split("\n"), 1)),
    "json in json": json.dumps(json.dumps({"private_key": PEM})),
    "json in json in json": json.dumps(json.dumps(json.dumps({"private_key": PEM}))),
    "continued lines": PEM.replace("\n", "\\\n"),
    "joined by dots": " .\n".join(f"'{line}'" for line in PEM.split("\n")),
    "list of templates": ",\n".join(f"`{line}`" for line in PEM.split("\n")),
    "bytes in python": "\n".join(f'b"{line}\\n"' for line in PEM.split("\n")),
    "html": PEM.replace("\n", "<br>\n"),
    "xml": PEM.replace("\n", "&#10;"),
    "url": quote(PEM),
    "form": PEM.replace("\n", "%0D%0A").replace(" ", "+"),
    "table": PEM.replace("\n", " |\n| "),
    "utf-16 behind text": "x" * 9000 + "\0".join(PEM),
    "base64 behind 1": base64.b64encode(b"x" + PEM.encode()).decode(),
    "base64 behind 2": base64.b64encode(b"xy" + PEM.encode()).decode(),
    "base64 in lines": base64.encodebytes(b'{"private_key": "' + PEM.encode()).decode(),
    "without its first line": BODY,
    "pkcs 8 without its first line": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7qqqqqqqq",
    "sec 1 without its first line": "MHcCAQEEIKqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqoAoG",
    "jwk": json.dumps({"kty": "OKP", "crv": "Ed25519", "d": "q" * 43, "x": "11qYAYKxCrfVS"}),
    "jwk in json": json.dumps(json.dumps({"d": "q" * 43, "kty": "OKP"})),
    "age in lower case": f"age-secret-key-1{'q' * 58}",
}


@pytest.mark.parametrize("form", REWRITTEN)
async def test_a_private_key_is_known_however_it_was_put_into_a_file(home: Home, form: str) -> None:
    home.put("src/notes.txt", f"before\n{REWRITTEN[form]}\n")
    assert "holds a key" in await home.output("read_file", path="src/notes.txt")
    assert "qqqq" not in await home.everything("src/notes.txt")


@pytest.mark.parametrize("filler", ["Ab: ", "Ab: x ", "\\", "+", "+-", "<br>", "12 ", "a: b\n"])
async def test_no_text_behind_the_head_of_a_key_takes_long_to_look_through(
    home: Home, filler: str
) -> None:
    # In time that grows faster than the text this would not end.
    text = f"-----BEGIN PRIVATE KEY-----\n{filler * 100_000}"
    home.put("src/notes.txt", text)
    assert "src/notes.txt:1: -----BEGIN" in await home.output("search_files", pattern="BEGIN")


@pytest.mark.parametrize("text", PRIVATE_KEYS)
async def test_private_keys_are_known_by_their_form(home: Home, text: str) -> None:
    home.put("src/notes.txt", f"before\n{text}")
    for number in (1, 2, 4):
        output = await home.output("read_file", path="src/notes.txt", start_line=number)
        assert output == (
            "src/notes.txt holds a key and is not given to a model. "
            "Ask the user for what you need of it."
        )
    assert "QQQQ" not in (everything := await home.everything("src/notes.txt"))
    assert "qqqq" not in everything


async def test_code_that_names_private_keys_stays_readable(home: Home) -> None:
    code = 'BEGIN = "-----BEGIN RSA PRIVATE KEY-----"\nEND = "-----END RSA PRIVATE KEY-----"\n'
    home.put("keys.py", code)
    assert await home.output("read_file", path="keys.py") == code
