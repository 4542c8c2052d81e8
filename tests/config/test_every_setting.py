"""Every setting is checked: what is wrong is named with place and key, and its default counts.

A setting that is new in the schema must be entered here.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, get_args, get_origin

import pytest

from ollm_tui.cli.settings import checked
from ollm_tui.config.engine_settings import PICTURE_PARTS
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.profiles import NAME_HINT
from ollm_tui.config.schema import AppConfig
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.sections.marks import Bounds
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import Declared, Section
from tests.config.conftest import Load

NAMES: Mapping[str, str] = {
    "profiles": "p",
    "providers": "work",
    "models": "m",
    "mcp_servers": "box",
}
SWITCH = ("2", '"maybe"', "[]")
COUNT = ("0", "-1", "1.5", "true", '"many"', "10000000000000")
PART = ("-0.1", "1.1", "nan", "true", '"x"')
PENALTY = ("-2.1", "3", "inf", "nan", "true", '"x"')
STRENGTH = ("-1", "300", "inf", "nan", "true", '"x"')
SECONDS = ("0", "-1", "inf", "nan", "100000", "true", '"x"')
TEXT = ("5", '""', "[]")
NO_TEXT = ("5", "[]")
ADDRESS = ('"http://a b"', '"ftp://a"', '"http://a:99999"', "5", '"gpu1:8000"')
VARIABLE = ('"sk-0123456789"', '"A B"', '"NOT_SET_ANYWHERE"', "5")

FILE = ('"/not/there"', '"a\\u0000b"', "5")
LOADING: Mapping[str, tuple[str, ...]] = {
    "threads": ("0", "100000", "1.5", "true"),
    "threads_batch": ("0", "100000", "1.5", "true"),
    "gpu_layers": ("-1", "1.5", "true", '"most"'),
    "cache_type_k": ('"q2_k"', "8"),
    "cache_type_v": ('"q2_k"', "8"),
    "flash_attention": SWITCH,
}
GENERATION: Mapping[str, tuple[str, ...]] = {
    "temperature": STRENGTH,
    "max_tokens": COUNT,
    "top_p": PART,
    "top_k": ("-1", "1.5", "true", "10000000"),
    "min_p": PART,
    "repeat_penalty": STRENGTH,
    "presence_penalty": PENALTY,
    "frequency_penalty": PENALTY,
    "seed": ("9223372036854775808", "1.5", "true", '"x"'),
    "stop": ('"x"', "[5]", '[""]'),
    "num_ctx": COUNT,
    "keep_alive": ('"5 minutes"', '"soon"', '""', "true", "nan", "inf", '"nan"', "[]"),
    "extra_body": ("5", '{ model = "x" }', "{ a = 2020-01-01 }"),
}
LANGUAGE = ('"golang"', '""', "5")
WRONG: Mapping[str, tuple[str, ...]] = {
    "theme": (*TEXT, '"dsk"'),
    "screen_reader": SWITCH,
    "model": (*TEXT, '"locl://m"'),
    "provider": ("5", '"locl"'),
    "system_prompt": NO_TEXT,
    "system_prompt_format": LANGUAGE,
    "thinking": ('"lots"', "true", "1"),
    "profile": (*TEXT, '"codng"'),
    "ui.show_thinking": SWITCH,
    "ui.maths": SWITCH,
    "ui.pictures": ('"sixels"', "true", "1"),
    "ui.times": SWITCH,
    "ui.show_stats": SWITCH,
    "ui.mouse": SWITCH,
    "ui.animations": SWITCH,
    "chat.memory": SWITCH,
    "chat.titles": SWITCH,
    "chat.make_room": ('"always"', "true", "1"),
    "keymap": (
        "5",
        '{ "chat.modls" = "f4" }',
        '{ "chat.models" = "ctlr+l" }',
        '{ "chat.models" = "ctrl+ctrl+l" }',
        '{ "chat.models" = "ctrl+o" }',
        '{ "chat.models" = "f1" }',
        '{ "chat.models" = "a" }',
        '{ "chat.models" = "" }',
        '{ "chat.models" = "f4,," }',
        '{ "chat.models" = "f4", "chat.chats" = "f4" }',
        '{ "chat.models" = 4 }',
    ),
    **{f"options.{name}": wrong for name, wrong in GENERATION.items()},
    **{f"defaults.{task}": (*TEXT, '"locl://m"') for task in get_args(ModelTask)},
    "profiles.p.model": (*TEXT, '"locl://m"'),
    "profiles.p.system_prompt": NO_TEXT,
    "profiles.p.system_prompt_format": LANGUAGE,
    "profiles.p.thinking": ('"lots"', "true"),
    "profiles.p.schema": FILE,
    "profiles.p.tools": ('"read_file"', '["read_fil"]', "[5]"),
    **{f"profiles.p.options.{name}": wrong[:1] for name, wrong in GENERATION.items()},
    "embedded.idle_unload_s": ("-1", "inf", "nan", "1e12", "true", '"x"'),
    "embedded.state_mb": ("-1", "1.5", "1e12", "true", '"x"'),
    **{f"embedded.{key}": values for key, values in LOADING.items()},
    "embedded.server": ("5", '"/not/there"', '"a\\u0000b"'),
    "embedded.espeak": ("5", '"/not/there"', '"a\\u0000b"'),
    "embedded.context": (*COUNT, "255"),
    "embedded.model_folders": ('"x"', "[5]", '["/not/there"]', '["a\\u0000b"]'),
    "embedded.other_folders": ('"lmstudio"', '["lmstdio"]', "[5]"),
    "tools.enabled": ('"read_file"', '["read_fil"]', '[""]', "[5]"),
    "tools.network": SWITCH,
    "tools.private_networks": ('"10.0.0.0/8"', '["10.0.0"]', '["10.0.0.1/8"]', "[5]"),
    "tools.search_url": ('"gpu1:8000"', '"ftp://a"', '"http://a:99999"', '"http://a:b@c"', "5"),
    "tools.root": ('"/not/there"', '"~/not there"', '"a\\u0000b"', '"/etc/passwd"', "5"),
    "chat.max_turns": (*COUNT, "101"),
    "chat.calls_per_turn": (*COUNT, "1001"),
    "chat.prompt_timeout_s": SECONDS,
    "chat.save": SWITCH,
    "shell.timeout_s": SECONDS,
    "shell.background_s": SECONDS,
    "shell.variables": ('"x"', "[5]", '[""]'),
    "search.similar": SWITCH,
    "hub.endpoint": ADDRESS,
    "hub.token": ('"a b"', "5"),
    "hub.token_env": VARIABLE,
    **{
        f"sound.{direction}_command": ("5", '""', "[]", '[""]', "[5]", '"a \'b"')
        for direction in ("record", "play")
    },
    "sound.longest_recording_s": SECONDS,
    "sound.voice": TEXT,
    "mcp_servers.box.command": TEXT,
    "mcp_servers.box.args": ('"x"', "[5]"),
    "mcp_servers.box.env": ("5", "{ A = 5 }", '{ A = "${NOT_SET_ANYWHERE}" }'),
    "mcp_servers.box.cwd": ("5", '"a\\u0000b"'),
    "mcp_servers.box.url": TEXT,
    "mcp_servers.box.headers": ("5", '{ "a b" = "x" }'),
    "mcp_servers.box.enabled": SWITCH,
    "mcp_servers.box.roots": SWITCH,
    "mcp_servers.box.oauth.client_id": TEXT,
    "mcp_servers.box.oauth.client_secret": ("5", "true"),
    "mcp_servers.box.oauth.callback_port": ("0", "65536", "true"),
    "mcp_servers.box.sampling": SWITCH,
    "mcp_servers.box.elicitation": SWITCH,
    "mcp_servers.box.start_timeout_s": SECONDS,
    "mcp_servers.box.call_timeout_s": (*SECONDS, "3601"),
    "downloads.at_once": (*COUNT, "17"),
    **{f"models.m.{key}": values for key, values in LOADING.items()},
    **{f"models.m.{key}": FILE for key in ("path", "projector", "draft_model", "chat_template")},
    **{f"models.m.{key}": FILE for key in PICTURE_PARTS},
    "models.m.lora": ('"x"', "[5]", '["/not/there"]', '["a\\u0000b"]'),
    "models.m.draft_tokens": ("0", "1025", "1.5", "true"),
    "models.m.context": COUNT,
    "models.m.tool_mode": ('"reakt"', "5"),
    "models.m.vision": SWITCH,
    "models.m.tools": SWITCH,
    "models.m.thinking": SWITCH,
    "aliases": ("5", '{ a = "lcal" }', "{ a = 5 }"),
    "providers.work.kind": ('"olama"', "5"),
    "providers.work.label": TEXT,
    "providers.work.base_url": ADDRESS,
    "providers.work.base_urls": ('"http://a"', '["http://a b"]', "[5]", '["gpu1:8000"]'),
    "providers.work.api_key": ('"a\\nb"', '"${NOT_SET_ANYWHERE}"', "5"),
    "providers.work.api_key_env": VARIABLE,
    "providers.work.headers": ("5", '{ "a b" = "x" }', '{ "" = "x" }', '{ a = "x\\ny" }'),
    "providers.work.ca_file": ('"/not/there"', '"/etc/hostname"', '"a\\u0000b"', "5"),
    "providers.work.proxy": ('"socks5://a"', '"http://a b"', '"proxy:3128"', "5"),
    "providers.work.backend": ('"vlm"', "5"),
    "providers.work.extra_body": ("5", '{ model = "x" }'),
    "providers.work.connect_timeout_s": SECONDS,
    "providers.work.first_byte_timeout_s": SECONDS,
    "providers.work.idle_timeout_s": SECONDS,
    "providers.work.enabled": SWITCH,
    "providers.work.priority": ("1.5", "true", '"x"', "100000000"),
}
CASES = [(key, value) for key, values in WRONG.items() for value in values]


def settings(section: type[Section] = AppConfig, above: str = "") -> Iterator[tuple[str, Declared]]:
    """Give every setting that a person can write, as it stands in a file."""
    for name, declared in section.declared().items():
        inner = _table(declared.kind)
        if inner is None:
            yield above + declared.key, declared
        else:
            key = f"{name}.{NAMES[name]}" if name in NAMES else name
            yield from settings(inner, f"{above}{key}.")


def _table(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    inner = get_args(annotation) if get_origin(annotation) is dict else ()
    return next((table for one in inner if (table := _table(one))), None)


def numbers(annotation: object, marks: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Give the bounds of each number in a type."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        yield from numbers(inner, (*marks, *more))
    elif annotation == JsonValue:
        return
    elif annotation in (int, float):
        yield marks
    else:
        for one in get_args(annotation):
            yield from numbers(one, marks)


def test_every_setting_has_wrong_values_here() -> None:
    assert {key for key, _ in settings()} == WRONG.keys()


def test_every_number_has_a_least_and_a_greatest_value() -> None:
    for key, declared in settings():
        if key.endswith("options.keep_alive"):  # also text; any negative number is forever
            continue
        for marks in numbers(declared.kind):
            bounds = [mark for mark in marks if isinstance(mark, Bounds)]
            assert any(one.ge is not None or one.gt is not None for one in bounds), key
            assert any(one.le is not None or one.lt is not None for one in bounds), key


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("key", "value"), CASES)
def test_a_wrong_value_is_named_with_its_place_and_its_default_counts(
    key: str, value: str, load: Load, paths: AppPaths
) -> None:
    table, _, name = key.rpartition(".")
    lines = [f"[{table}]"] if table else []
    if table == "providers.work" and not name.startswith("base_url"):
        lines.append('base_url = "http://127.0.0.1:9"')
    lines.append(f"{name} = {value}")
    loaded = load("\n".join(lines))
    problems = checked(loaded, paths)
    assert problems, "nothing was said"
    first = problems[0]
    assert (first.origin.name, first.origin.line) == (str(paths.config_file), len(lines))
    assert first.key is not None
    assert first.key.startswith(key)
    assert "sk-0123456789" not in str(first)
    assert "\n" not in str(first)
    assert len(problems) == 1
    # What the app goes on with is right, or says itself why it cannot be used.
    assert read_section(AppConfig, loaded.config.to_dict()) is not None


NEAR = {
    'theme = "dsk"': "Did you mean dusk?",
    'them = "dusk"': "Did you mean `theme`?",
    'provider = "locl"': "Did you mean `local`?",
    'model = "lcal://m"': "Did you mean `local`?",
    '[models."lcal://m"]\ncontext = 5': "Did you mean `local`?",
    "[models.x]\ncontxt = 5": "Did you mean `context`?",
    "[profiles.x]\nsystem_promt = 5": "Did you mean `system_prompt`?",
    "[profiles.x.options]\ntemprature = 5": "Did you mean `temperature`?",
    'profile = "codng"\n[profiles.coding]\ntools = []': "Did you mean `coding`?",
    'profile = "x"': "There are no profiles yet: /save NAME in a chat writes one.",
    "[profiles.none]\ntools = []": NAME_HINT,
    "[models.x]\nqqq = 5": "flash_attention, gpu_layers, llm, lora, path",
    '[keymap]\n"chat.modls" = "f4"': "Did you mean chat.models?",
    '[keymap]\n"chat.models" = "Ctrl+L"': "Did you mean ctrl+l?",
    '[keymap]\n"chat.models" = "ctlr+g"': "Did you mean ctrl+g?",
    '[keymap]\n"chat.models" = "pageupp"': "Did you mean pageup?",
    '[tools]\nenabled = ["readfile"]': "Did you mean read_file?",
    '[embedded]\nother_folders = ["hugginface"]': "Did you mean `huggingface`?",
    '[providers.a]\nbase_url = "http://a"\nbackend = "llamacp"': "Did you mean `llamacpp`?",
    '[providers.a]\nbase_url = "http://a"\napi_kee = "x"': "Did you mean `api_key`?",
}


@pytest.mark.parametrize("text", NEAR)
def test_the_nearest_right_word_is_given(text: str, load: Load, paths: AppPaths) -> None:
    (problem,) = checked(load(text), paths)
    assert problem.advice is not None or NEAR[text] in problem.message
    assert NEAR[text] in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        'model = "llamacpp-8080://m"',
        'model = "ollama://m"',
        '[models."ollama-8080://m"]\ncontext = 5',
        '[options]\nkeep_alive = "1h30m"',
        '[options]\nkeep_alive = "forever"',
        "[options]\nkeep_alive = -1",
        "[options]\ntemperature = 2",
        'profile = "Kürzer gesagt"\n[profiles."kürzer gesagt"]\ntools = ["all"]',
        'profile = "none"',
        '[keymap]\n"chat.models" = "f4,alt+g"',
        '[keymap]\n"chat.models" = "ctrl+r"\n"chat.chats" = "ctrl+l"',
        '[keymap]\n"chat.retry" = "t"',
        '[tools]\nenabled = ["all"]\nroot = "/"',
        '[providers.a]\nbase_url = "http://a"\nproxy = "none"',
    ],
)
def test_what_is_right_is_not_complained_of(text: str, load: Load, paths: AppPaths) -> None:
    assert checked(load(text), paths) == ()


def test_thousands_of_mistakes_take_linear_work(
    load: Load, paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[int] = []

    def work(count: int) -> int:
        looked_up.clear()
        load("".join(f"k{number} = 1\n" for number in range(count)))
        return sum(looked_up)

    from ollm_tui.config.origin import Layers

    for name in ("top", "below", "winners"):
        real = getattr(Layers, name)

        def counting(self: Layers, *given: object, real: object = real) -> object:
            found = real(self, *given)  # type: ignore[operator]
            looked_up.append(len(found) if isinstance(found, tuple | dict) else 1)
            return found

        monkeypatch.setattr(Layers, name, counting)
    assert work(2000) < 25 * work(100)


def test_the_parts_of_a_key_are_bounded_before_the_parser_sees_them(load: Load) -> None:
    for part in ("a", '"\\""', "'b'"):
        for text in (".".join([part] * 150_000) + " = 1", f"[{'.'.join([part] * 150_000)}]"):
            loaded = load(text)
            assert "too large, or is nested too deep" in str(loaded.problems[0])


def test_many_problems_are_reported_in_short(paths: AppPaths, load: Load) -> None:
    from ollm_tui.config.origin import MAX_SHOWN, summarize

    loaded = load("".join(f"k{number} = 1\n" for number in range(5000)))
    assert len(loaded.problems) == 5000
    reported = summarize(loaded.problems)
    assert len(reported) == MAX_SHOWN + 1
    assert reported[-1] == "And 4,980 more: see `ollm config check`."


def test_settings_from_the_environment_are_checked_too(paths: AppPaths) -> None:
    environ = {"OLLM_THEME": "dsk", "OLLM_TOOLS__ROOT": "/not/there", "OLLM_OPTIONS__TOP_P": "7"}
    loaded = load_config(paths, environ)
    reported = {str(problem.origin) for problem in checked(loaded, paths)}
    assert reported == environ.keys()
