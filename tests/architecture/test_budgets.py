"""Sizes that keep a module one job; there is no opt-out."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.modules import PACKAGE, dotted, imported_names

FILES = sorted(PACKAGE.rglob("*.py"))
HOOKS = ("on_", "action_", "watch_", "validate_", "compute_", "render_", "key_", "check_", "_")
TEXTUAL_HOOKS = HOOKS[:-1]
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


Class = tuple[str, str]
"""A module and a name in it."""
MAX_METHODS = 60
MAX_LINES_OF_A_FOLDER = 5_500
MAX_LINES_OF_A_FEATURE = 7_500


SHORT_MODULES = {
    "several packages use it, and it knows none of them": [
        "config/complaints.py",
        "config/flags.py",
        "decode/counted.py",
        "decode/json_fields.py",
        "decode/matching.py",
        "decode/repeats.py",
        "decode/retry_after.py",
        "decode/schema_parts.py",
        "decode/sentences.py",
        "decode/sequence_cache.py",
        "frontend/notes.py",
        "library/urls.py",
        "protocol/json_types.py",
        "protocol/signals.py",
        "providers/media/multipart.py",
        "providers/media/wave_file.py",
        "providers/media/refusals.py",
        "providers/spec.py",
        "tasks.py",
        "tui/memory.py",
        "tui/widgets/messages.py",
        "tui/widgets/stand_ins.py",
        "tui/widgets/styled_once.py",
        "tui/transcript/reading.py",
        "web/charsets.py",
    ],
    "it is run as a program": ["__main__.py", "library/downloads/package_guard.py"],
    "it is imported when it is first used": ["runtime/hub.py", "tools/builtin/reading.py"],
    "one tool or group of commands, each in its file": [
        "cli/model_prompt.py",
        "providers/embedded/infill.py",
        "providers/ollama/embeddings.py",
        "providers/openai_compatible/embeddings.py",
        "commands/speech.py",
        "commands/snippets.py",
        "commands/view.py",
        "shell/environment.py",
        "tools/builtin/clock.py",
    ],
    "one idea that ends there, beside a user that has another": [
        "tui/chat/status/answer_pace.py",
        "tui/dialogs/approve_request.py",
        "tools/writing/protected.py",
        "models/tasks.py",
        "protocol/base64_text.py",
        "sound/check.py",
        "store/search/texts.py",
        "decode/bare_links.py",
        "exchange/new_file.py",
        "exchange/stylesheet.py",
        "linear/speech.py",
        "frontend/server_news.py",
        "frontend/model_facts.py",
        "frontend/private.py",
        "tui/chat/last_session.py",
        "tui/chat/profile_dialog.py",
        "frontend/welcome_note.py",
        "tui/chat/prompting/snippets.py",
        "tui/chats/opening.py",
        "tui/voice/control.py",
        "tui/terminal/foreground.py",
        "tui/composer/external_editor.py",
        "tui/dialogs/dialogs.py",
        "tui/keys/double_escape.py",
        "tui/links/pick_dialog.py",
        "tui/reading/marks.py",
        "tui/transcript/pictures.py",
        "tui/transcript/search/keys.py",
    ],
}


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path.relative_to(PACKAGE), ast.parse(path.read_text("utf-8"))) for path in FILES]


def body_lines(node: FUNCTION) -> int:
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    skipped = ((first.end_lineno or 0) - first.lineno + 1) if is_docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - skipped


@pytest.fixture(scope="module", autouse=True)
def _trees_are_forgotten() -> Iterator[None]:
    """They are large, and parsed on first use: collecting the tests parses nothing."""
    yield
    for read_once in (trees, classes, imports):
        read_once.cache_clear()


@cache
def classes() -> dict[Class, ast.ClassDef]:
    return {
        (dotted(path), node.name): node
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


@cache
def imports() -> dict[str, dict[str, Class]]:
    return {dotted(path): imported_names(tree) for path, tree in trees()}


def own_methods(node: ast.ClassDef) -> set[str]:
    return {child.name for child in node.body if isinstance(child, FUNCTION)}


def all_methods(key: Class) -> set[str]:
    node, (module, _name) = classes()[key], key
    methods = own_methods(node)
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(name, ast.Name) and (ours := resolved(module, name.id)) is not None:
            methods |= all_methods(ours)
    return methods


def resolved(module: str, name: str) -> Class | None:
    """Find the class that a name means in a module, through packages that pass it on."""
    if (module, name) in classes():
        return module, name
    source = imports().get(module, {}).get(name)
    return None if source is None else resolved(*source)


def test_no_module_is_over_400_lines() -> None:
    long = {
        str(p.relative_to(PACKAGE)): n
        for p in FILES
        if (n := len(p.read_text().splitlines())) > 400
    }
    assert long == {}


def test_no_function_is_over_50_lines() -> None:
    long = {
        f"{path}:{node.name}": lines
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION) and (lines := body_lines(node)) > 50
    }
    assert long == {}


def test_no_folder_and_no_feature_of_the_screen_is_too_large_to_learn() -> None:
    """A folder counts by its own files, a feature with the folders in it."""
    folders: Counter[str] = Counter()
    features: Counter[str] = Counter()
    for path in FILES:
        place, lines = path.relative_to(PACKAGE).parent, len(path.read_text("utf-8").splitlines())
        folders[place.as_posix()] += lines
        if place.parts[:1] == ("tui",):
            features["/".join(place.parts[:2])] += lines
    assert {"tui/chat", "providers/pool"} < folders.keys() > features.keys()
    assert {name: n for name, n in folders.items() if n > MAX_LINES_OF_A_FOLDER} == {}
    assert {name: n for name, n in features.items() if n > MAX_LINES_OF_A_FEATURE} == {}


def test_a_module_below_60_lines_has_a_reason_and_few_need_one() -> None:
    modules = [path for path in FILES if path.name != "__init__.py"]
    short = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules
        if len(path.read_text("utf-8").splitlines()) < 60
    }
    reasons = {path: reason for reason, paths in SHORT_MODULES.items() for path in paths}
    assert short - reasons.keys() == set(), "short without a reason"
    assert reasons.keys() - short == set(), "no longer short: take its reason away"
    assert len(short) <= 0.1 * len(modules)


def test_no_class_has_over_15_public_methods_nor_20_hooks_of_its_own() -> None:
    wide = {}
    for (module, name), node in classes().items():
        names = own_methods(node)
        public = {n for n in names if not n.startswith(HOOKS)}
        hooks = {n for n in names if n.startswith((*TEXTUAL_HOOKS, "_on_"))}
        if len(public) > 15 or len(hooks) > 20:
            wide[f"{module}:{name}"] = (len(public), len(hooks))
    assert wide == {}


def test_no_class_grows_by_inheriting() -> None:
    """All methods count that a class has from classes of this project."""
    wide = {
        f"{module}:{name}": len(names)
        for (module, name) in classes()
        if len(names := all_methods((module, name))) > MAX_METHODS
    }
    assert wide == {}


def test_every_package_says_what_belongs_there() -> None:
    silent = [
        str(path)
        for path, tree in trees()
        if path.name == "__init__.py" and not ast.get_docstring(tree)
    ]
    assert silent == []


def test_a_function_that_imports_says_which_cost_it_avoids() -> None:
    silent = []
    for path, tree in trees():
        lines = (PACKAGE / path).read_text("utf-8").splitlines()
        for function in (n for n in ast.walk(tree) if isinstance(n, FUNCTION)):
            imports = any(isinstance(n, ast.Import | ast.ImportFrom) for n in function.body)
            body = lines[function.lineno - 1 : function.end_lineno]
            if imports and not any(line.strip().startswith("#") for line in body):
                silent.append(f"{path}:{function.name}")
    assert silent == []
