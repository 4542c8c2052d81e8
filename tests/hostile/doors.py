"""Every way by which foreign text comes to a screen: a new one must be entered here.

A door is tried with all payloads in one session of the real program; `Shows` says what must be
seen of them. `READERS` names the modules that take something in from outside, so that a new one is
noticed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tests.e2e.conftest import OLLM, environment
from tests.hostile import homes, scenes
from tests.hostile.payloads import PAYLOADS, PLAIN, Payload, marked
from tests.hostile.scenes import Seen, Visit
from tests.hostile.server import MODEL, hostile_server
from tests.support.http_server import in_thread
from tests.support.pty_session import PtySession

TALL, USUAL = (120, 150), (120, 40)
BENIGN = 15
"""So many plain texts say what is usual."""


class Shows(Enum):
    """What must be seen of a payload."""

    TEXT = "all of it, between its marks"
    NAME = "its beginning, strictly spelled, after its number"
    SPELLED = "all of it between its marks, strictly spelled"
    PART = "nothing certain, as it is cut or not shown at all"


def no_files(home: Path, _payloads: Sequence[Payload]) -> Path:
    return home


@dataclass(frozen=True)
class Scene:
    """One session: how the home looks, what is done, and what each door has to show."""

    act: Callable[[Visit], None]
    doors: Mapping[str, Shows]
    prepare: Callable[[Path, Sequence[Payload]], Path] = no_files
    payloads: tuple[Payload, ...] = PAYLOADS
    arguments: tuple[str, ...] = ()
    variable: str | None = None
    """The one that names the hostile server."""
    environ: Callable[[Sequence[Payload]], Mapping[str, str]] = field(default=lambda _given: {})
    size: tuple[int, int] = USUAL
    not_here: frozenset[str] = frozenset()
    """Payloads of which this scene shows something else, for a reason that stands beside it."""

    def play(self, folder: Path, *, benign: bool) -> Seen:
        """Run the program once."""
        payloads = PLAIN[: min(BENIGN, len(self.payloads))] if benign else self.payloads
        home = self.prepare(homes.make_home(folder), payloads)
        env = {**environment(home), **self.environ(payloads)}
        with ExitStack() as stack:
            if self.variable is not None:
                server = stack.enter_context(in_thread(hostile_server(payloads)))
                env[self.variable] = server.url
            argv = [*OLLM, *self.arguments]
            session = stack.enter_context(PtySession(argv, env, home, size=self.size))
            visit = Visit(session, home, payloads)
            self.act(visit)
            return scenes.leave(visit)


def _listed(*names: str) -> dict[str, Shows]:
    return dict.fromkeys(names, Shows.NAME)


def _text(*names: str) -> dict[str, Shows]:
    return dict.fromkeys(names, Shows.TEXT)


def _spelled(*names: str) -> dict[str, Shows]:
    return dict.fromkeys(names, Shows.SPELLED)


def _part(*names: str) -> dict[str, Shows]:
    return dict.fromkeys(names, Shows.PART)


def _variables(payloads: Sequence[Payload]) -> Mapping[str, str]:
    texts = [marked(p, place) for place, p in enumerate(payloads)]
    named = {f"OLLM_{text.replace('=', '-')}": "1" for text in texts}
    whole = "".join(texts)
    return {**named, "OLLAMA_HOST": whole, "OLLM_THEME": whole[:200], "OLLM_MODEL": whole[:200]}


FIT_FILES = homes.fit_for_files(PAYLOADS)
FIT_ARGUMENTS = homes.fit_for_arguments(PAYLOADS)
# A backslash before Enter goes on with the line, and a line end in a name is one in the input.
NOT_TYPED = frozenset(p.name for p in PAYLOADS if p.text.endswith("\\")) | {"return"}

SCENES: Mapping[str, Scene] = {
    "ollama": Scene(
        scenes.server_answers,
        _text(
            "answer",
            "answer bytewise",
            "thinking",
            "stream error",
            "error body",
            "plain error body",
        )
        | _part("tool call", "web page title", "reason phrase", "redirect target"),
        arguments=("--model", f"local://{MODEL}"),
        variable="OLLAMA_HOST",
        size=TALL,
    ),
    "chat completions": Scene(
        scenes.event_answers,
        _text("answer", "thinking", "stream error") | _part("tool call"),
        arguments=("--model", "openai-compatible://tiny"),
        variable="OPENAI_COMPATIBLE_HOST",
        size=TALL,
    ),
    "tools": Scene(
        scenes.tool_calls,
        _text("text of a file")
        | _spelled("arguments", "names of files", "lines found")
        | _part("unknown tool", "row of a call", "argument of /tools", "list of tools", "context"),
        homes.with_files_to_use,
        FIT_FILES,
        arguments=("--model", f"local://{MODEL}", "--tools", "all"),
        variable="OLLAMA_HOST",
        size=TALL,
    ),
    "saved chats": Scene(
        scenes.saved_chats,
        _listed("list of chats")
        | _text("chat that is gone on with")
        | _part("question before deleting", "opened chat"),
        homes.with_chats,
        arguments=("-c",),
        size=TALL,
        # SQLite would end a title there, so that it is saved as a sign of its own.
        not_here=frozenset({"nul"}),
    ),
    "ollama models": Scene(
        scenes.server_models,
        _listed("picker", "models screen", "suggestions", "header")
        | _part("what can be done with a model", "question before a model is deleted")
        | _part("details of a model", "input", "note"),
        arguments=("--model", f"local://{MODEL}"),
        variable="OLLAMA_HOST",
        not_here=NOT_TYPED,
    ),
    "model files": Scene(
        scenes.model_files,
        _listed("models screen", "suggestions", "header")
        | _part("what can be done with a model", "question before a model is deleted")
        | _part("details of a model", "input", "note", "unusable file"),
        homes.with_model_files,
        FIT_FILES,
        not_here=NOT_TYPED,
    ),
    "models of a hub": Scene(
        scenes.hub_models,
        _text("licence of a model")
        | _listed("names of files")
        | _part("row of a download", "error of a hub"),
        payloads=FIT_FILES,
        variable="HF_ENDPOINT",
        # Whatever ends a line is a space in the one line that a licence has.
        not_here=frozenset({"c1-next-line", "form-feed"}),
    ),
    "remembered models": Scene(
        scenes.remembered,
        _listed("remembered suggestions") | _part("remembered model"),
        homes.with_choices,
        PAYLOADS[:12],
    ),
    "more remembered models": Scene(
        scenes.remembered,
        _listed("remembered suggestions") | _part("remembered model"),
        homes.with_choices,
        PAYLOADS[24:36],
    ),
    "settings 1": Scene(
        scenes.problems, _text("problems"), homes.with_settings, PAYLOADS[0:15], size=TALL
    ),
    "settings 2": Scene(
        scenes.problems, _text("problems"), homes.with_settings, PAYLOADS[15:30], size=TALL
    ),
    "settings 3": Scene(
        scenes.problems, _text("problems"), homes.with_settings, PAYLOADS[30:45], size=TALL
    ),
    "settings 4": Scene(
        scenes.problems, _text("problems"), homes.with_settings, PAYLOADS[45:], size=TALL
    ),
    "providers": Scene(scenes.problems, _text("problems"), homes.with_providers, size=TALL),
    "broken settings": Scene(
        scenes.broken, _part("problems"), homes.with_broken_settings, PAYLOADS[12:13]
    ),
    "themes": Scene(
        scenes.themes,
        _listed("theme picker", "theme suggestions") | _part("theme problem"),
        homes.with_themes,
        FIT_FILES,
    ),
    "keys": Scene(
        scenes.keys, _part("status line", "help page"), homes.with_keys, PAYLOADS[:40], size=TALL
    ),
    "prompts": Scene(
        scenes.typed,
        _text("pasted prompt")
        | _part("argument of /theme", "argument of /set", "argument of /model", "argument of /no"),
        # A paste keeps neither marks of a paste nor NUL, by the rules of the keyboard.
        not_here=frozenset({"paste-end", "nul"}),
        arguments=("--model", f"local://{MODEL}"),
        variable="OLLAMA_HOST",
        size=(120, 75),
    ),
    "earlier prompts": Scene(
        scenes.history, _part("earlier prompts"), homes.with_history, PAYLOADS
    ),
    "variables": Scene(
        scenes.environment_values,
        _part("variables"),
        payloads=FIT_ARGUMENTS,
        environ=_variables,
        size=TALL,
    ),
}

READERS: Mapping[str, str] = {
    "frontend/first_frame.py": "what this program drew, in a file that only its owner can write",
    "tui/terminal/first_picture.py": "as above, to compare it",
    "frontend/last_session.py": "ids of chats, which are compared and never shown",
    "cli/mcp/login.py": "a pasted address, which is compared and never shown",
    "cli/mcp/run.py": "servers of other clients: tests/cli/test_mcp.py has hostile ones",
    "mcp/known_tools.py": "what servers said of their tools, shown as the question shows it",
    "mcp/process.py": "what MCP servers write: tests/mcp, and the question in tests/tui/dialogs",
    "mcp/stdio.py": "as above",
    "store/copies/files.py": "saved chats, which are copied and never shown",
    "store/copies/restoring.py": "numbers of chats and messages",
    "store/copies/purging.py": "saved chats, which are written anew and never shown",
    "store/purging.py": "ids of chats and messages, which are compared and never shown",
    "store/sqlite_pages.py": "saved chats of a damaged file",
    "attachments/paths.py": "names of files, of which only those are taken that show as they are",
    "attachments/made.py": "the ages of files of its own, to remove old ones",
    "attachments/attachment.py": "attached files: pictures, text put into a prompt, names",
    "chat/answer_schema.py": "JSON Schemas: tests/commands/test_schema.py has hostile ones",
    "cli/model_actions.py": "a yes or no, which is compared and never shown",
    "cli/arguments.py": "exit: piped prompt",
    "cli/chats/marking.py": "tags of a chat, which are words",
    "cli/chats/writing.py": "saved chats: tests/exchange/test_markdown.py has hostile ones",
    "cli/media/draw.py": "pictures that are sent to a server, never shown",
    "cli/media/embed.py": "texts that are sent to a server, never shown",
    "cli/media/infill.py": "texts that are sent to a model, never shown",
    "cli/media/sound.py": "sound that is sent to a server, never shown",
    "sound/device_child.py": "sound that is played, never shown",
    "sound/program.py": "the last words of a command of the settings, cleaned: tests/sound",
    "cli/keys.py": "a key, which is never shown: tests/cli/test_keys.py",
    "cli/model_work.py": "a template that is sent to a server, never shown",
    "cli/pull.py": "the number of a choice, which is compared and never shown",
    "config/checks.py": "certificates, which are never shown",
    "config/early.py": "settings, keys",
    "config/edit.py": "settings: read and written back, never shown",
    "config/keys/hub.py": "the hub's token, which is never shown",
    "config/keys/stored_keys.py": "kept keys, never shown: tests/config/test_stored_keys.py",
    "config/plugins.py": "entry points, of which a prefix is looked for: config/test_plugins.py",
    "config/toml_file.py": "settings, providers, broken settings",
    "config/yaml_file.py": "families, settings beside models: tests/cli/test_explain.py",
    "models/family_files.py": "names of users' families, which problems name: as above",
    "exchange/archive_pictures.py": "tests/exchange/test_archive_pictures.py has hostile ones",
    "exchange/json_items.py": "foreign chats: tests/exchange/test_import.py has hostile ones",
    "exchange/reading.py": "chats of other programs: as above",
    "exchange/sources/sqlite_file.py": "chats of other programs: as above",
    "library/downloads/job_folder.py": "files of its own; titles and notes are painted rows",
    "library/downloads/local_copy.py": "files that are copied; only plain names are taken",
    "library/downloads/starter_download.py": "pip's last words, shown as an error is",
    "library/downloads/transfer_run.py": "files that come, under names that were checked",
    "library/downloads/part_file.py": "files that come; its state is compared and never shown",
    "library/gguf.py": "model files",
    "library/downloads/package_guard.py": "waits for the end of its input, which says nothing",
    "library/hub/client.py": "a hub's JSON; tried in tests/library/hub/test_any_json.py",
    "library/machine_probe.py": "numbers of the kernel and a driver; a card's name, never shown",
    "library/model_files.py": "model files",
    "library/provenance.py": "where a model was fetched: shown as the details of an engine are",
    "library/registry/known.py": "the program's own list",
    "library/registry/storage.py": "ratings, uses, a hub: tests/cli/test_model_search.py",
    "library/starter.py": "checked against a known sum; shows words of its own, folders never",
    "providers/client.py": "what HTTP servers send; certificates, which are never shown",
    "providers/read_coalescer.py": "what HTTP servers send",
    "providers/watched_stream.py": "what HTTP servers send",
    "providers/ollama/create.py": "files that are sent to a server, never shown",
    "runtime/profiles.py": "settings; names and lines of profiles: tests/runtime/test_profiles.py",
    "providers/discovery.py": "ollama, chat completions: who is there, its version cleaned",
    "engines/host.py": "jobs of the app; what becomes of them is shown as `stream error` is",
    "engines/piper.py": "voices: their sound, and why they cannot be used",
    "engines/whisper.py": "models: what they hear, and why they cannot be used",
    "library/picture_files.py": "model files that draw: tests/library/test_picture_files.py",
    "library/sound_files.py": "model files that hear or speak",
    "providers/embedded/worker.py": "frames of an engine: tests/engines/test_frames.py",
    "providers/embedded/chat_template.py": "templates, shown as those of a model file are",
    "providers/embedded/child.py": "runs the engine; says its address",
    "providers/embedded/machine_limits.py": "numbers of the kernel, never shown",
    "providers/embedded/process.py": "the engine's log, shown as an error as `stream error` is",
    "providers/embedded/prompt_states.py": "names of its own files, never shown",
    "providers/response_reader.py": "ollama, chat completions",
    "providers/openai_compatible/own_links.py": "pictures for files, never shown",
    "providers/fetcher.py": "bytes for readers of their own; its words name hosts alone",
    "runtime/choices.py": "remembered models",
    "runtime/exports.py": "saved chats: tests/exchange/test_html.py has hostile ones",
    "runtime/downloads.py": "whether there are files; their names are not shown",
    "store/conversations.py": "saved chats",
    "store/connect.py": "the version of the file, which is a number",
    "store/database.py": "how many rows changed, which is a number",
    "store/deletions.py": "saved chats",
    "store/listing.py": "saved chats, in the list of chats",
    "store/tree.py": "saved chats, which the tree of a chat shows",
    "runtime/saved/chats.py": "saved chats",
    "runtime/saved/branches.py": "a branch of a saved chat",
    "store/files.py": "files by the program's own names, which are never shown",
    "store/marks.py": "saved chats",
    "store/records.py": "saved chats",
    "store/statements.py": "saved chats",
    "store/search/index_file.py": "the version of the index, which is a number",
    "store/search/indexer.py": "saved chats",
    "store/search/lookup.py": "saved chats",
    "store/search/embedding_queue.py": "saved chats",
    "store/search/vectors.py": "numbers, of the index",
    "templates/child.py": "runs a template; gives its text, or why there is none",
    "templates/renderer.py": "that text and reason: tests/tui/models/test_prompt_screen.py",
    "tools/builtin/guard.py": "names of files and folders, which are compared and never shown",
    "tools/builtin/list_directory.py": "tools: names of files",
    "tools/builtin/read_file.py": "tools: text of a file, lines found",
    "frontend/consent.py": "names of tools and words of commands, spelled",
    "frontend/grants.py": "as above: tests/frontend/test_grants.py has odd files",
    "tools/memory/notes.py": "notes of the person's own and of models, cleaned and spelled",
    "tools/memory/edit_notes.py": "as above",
    "frontend/memory.py": "as above",
    "tools/writing/journal.py": "what files were: shown as the diff of a question, spelled",
    "tools/writing/replacing.py": "files that tools change: as above",
    "tui/terminal/driver.py": "prompts",
    "tui/terminal/guard.py": "signals",
    "tui/theming/themes.py": "themes",
    "frontend/prompt_history.py": "earlier prompts",
    "cli/dispatch.py": "whether there is a terminal",
    "linear/terminal.py": "what a person types, line by line",
    "tui/composer/drafts.py": "drafts, shown as earlier prompts are",
    "frontend/text_editor.py": "the draft, as an editor saved it",
    "attachments/clipboard.py": "a picture, which is looked at as any file",
    "attachments/snippets.py": "texts of the person's own",
    "attachments/instructions.py": "AGENTS.md and skills: tests/frontend/test_instructions.py",
    "frontend/snippets.py": "texts of the person's own",
    "frontend/instructions.py": "AGENTS.md and skills: tests/frontend/test_instructions.py",
    "tools/web/fetch.py": "pages, shown as the text of a file is: tests/tools/test_web_fetch.py",
    "web/reading.py": "as above: tests/web/test_reading.py has broken ones",
    "web/extract_child.py": "as above",
    "shell/jobs.py": "output of a command in the background, shown as below",
    "shell/folder_changes.py": "names of files that commands changed, spelled in `/diff`",
    "tools/shell_jobs.py": "output of a command in the background, shown as below",
    "tools/writing/command_notes.py": "names of files that commands changed, spelled in `/diff`",
    "shell/command.py": "output of a command: tests/tui/chat/test_shell_commands.py",
    "shell/confined.py": "places of sockets, which are never shown",
    "shell/supervisor.py": "states and parents of processes, which are never shown",
}
"""The modules that read from outside, and the scenes that try what they read."""

WRITERS: Mapping[str, str] = {
    "tools/writing/command_notes.py": "JSON files that this program reads back",
    "tools/memory/notes.py": "notes, in a private file, as the question showed them",
    "web/reading.py": "pages, to its own process",
    "web/extract_child.py": "the text of a page, to the program itself",
    "cli/__init__.py": "its own version",
    "frontend/first_frame.py": "what this program drew, and letters that were typed",
    "tui/terminal/first_picture.py": "what was drawn, to its own file",
    "mcp/process.py": "messages to MCP servers",
    "mcp/stdio.py": "as above",
    "linear/terminal.py": "exit: lines for a screen reader",
    "tui/composer/drafts.py": "drafts, in private files",
    "frontend/snippets.py": "texts of the person's own",
    "attachments/snippets.py": "texts of the person's own",
    "shell/supervisor.py": "numbers, to the program that runs it",
    "shell/confined.py": "why a command was not run, as its output",
    "tui/terminal/foreground.py": "sequences of its own; the name of an editor",
    "frontend/foreground.py": "sequences of its own",
    "frontend/last_session.py": "ids of chats",
    "engines/host.py": "frames with what an engine makes",
    "engines/drawing.py": "the last words of the engine, for its log",
    "providers/embedded/supervisor.py": "the engine's settings",
    "providers/embedded/worker.py": "frames with what a person wants made",
    "providers/watched_stream.py": "requests to HTTP servers",
    "cli/output.py": "exits: standard output and error",
    "attachments/made.py": "a file that a person names, with the picture of a model",
    "sound/device_child.py": "recorded sound, and why there is none, for the program itself",
    "config/new_file.py": "a file that a person names, with the bytes of a server or an export",
    "cli/reference.py": "pages made from the code",
    "commands/exports.py": "exports, by way of the host",
    "config/edit.py": "the settings file",
    "config/keys/stored_keys.py": "kept keys, in a private file",
    "library/downloads/job_folder.py": "JSON files",
    "library/downloads/package_guard.py": "why pip could not be started, as pip's words",
    "library/provenance.py": "JSON files",
    "library/downloads/part_file.py": "how far a file has come, in JSON",
    "library/downloads/transfer_run.py": "a file that comes, under a name that was checked",
    "library/downloads/transfer.py": "opens that file",
    "library/registry/storage.py": "JSON files that this program reads back",
    "library/starter.py": "the starter model",
    "providers/embedded/child.py": "the engine's address",
    "providers/embedded/process.py": "the engine's settings",
    "runtime/choices.py": "a JSON file",
    "store/conversations.py": "the file of chats; what is read back is in saved chats",
    "store/marks.py": "the file of chats: as above",
    "store/records.py": "the file of chats: as above",
    "store/deletions.py": "the file of chats: as above",
    "store/listing.py": "pins, tags and titles, in the file of chats",
    "store/tree.py": "the file of chats: as above",
    "templates/child.py": "the text of a template",
    "templates/renderer.py": "templates and chats for its own process",
    "frontend/open_chat.py": "exports, by way of the runtime",
    "frontend/grants.py": "a JSON file that this program reads back",
    "tools/writing/file_tools.py": "files, by way of the journal",
    "tools/writing/journal.py": "JSON files that this program reads back",
    "tools/writing/replacing.py": "files inside the root, as the question showed",
    "tui/crash.py": "exit: crash report; the sentence is in tests/tui/test_crash.py",
    "tui/terminal/driver.py": "the screen; the title is looked at in every scene",
    "tui/transcript/row_writer.py": "the screen, as above",
    "tui/terminal/copying.py": "exit: clipboard; the program names the file of what was copied",
    "tui/terminal/guard.py": "sequences of its own; the title",
    "tui/composer/draft_editor.py": "the clipboard, with what the person has written",
    "frontend/prompt_history.py": "JSON lines",
}
"""The modules that write to the outside, and what tries them."""
