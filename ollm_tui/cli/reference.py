"""`python -m ollm_tui.cli.reference [--check] [FOLDER]`: write the pages made from the code."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ollm_tui.cli.arguments import EXIT_CODES, build_parser
from ollm_tui.cli.completion import completion_files
from ollm_tui.cli.man_page import man_page
from ollm_tui.cli.model_search import count_text
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.config.reference import config_page, example_text
from ollm_tui.decode.counted import size_text
from ollm_tui.library.registry.entry import PURPOSES, RegistryEntry
from ollm_tui.library.registry.known import load_curated

_MODELS_HEAD = """\
# Models of the built-in list

<!-- Made by `python -m ollm_tui.cli.reference` from models.json; do not edit. -->

{count} open models, chosen by hand, as their publishers' pages described them; compiled on
{date}. How it is used:
[search and rate models on the command line](../guides/registry.md).

Skills are coarse, from 1 (weak) to 5 (among the best open models of any size). The skill for
`small` is how good a model is for its memory. The source of each skill is the first page in its
row. Sizes are approximate, those of published files, without the image encoder of a vision model.
"""


def model_list_page() -> str:
    """Return the page, one table for each purpose."""
    known = load_curated()
    lines = [_MODELS_HEAD.format(count=len(known.entries), date=known.date)]
    for purpose, meaning in PURPOSES.items():
        entries = [entry for entry in known.entries if purpose in entry.purposes]
        entries.sort(key=lambda entry: (-entry.skills[purpose], entry.parameters or 0, entry.id))
        lines += [f"## {purpose.capitalize()}\n", f"{meaning.capitalize()}.\n"]
        lines += ["| Model | Skill | Parameters | Window | Licence |", "|---|---|---|---|---|"]
        lines += [_short_row(entry, purpose) for entry in entries]
        lines.append("")
    lines += ["## All, with their sizes and sources\n", "| Model | | Sizes | Pages |"]
    lines += ["|---|---|---|---|", *(_long_row(entry) for entry in known.entries)]
    return "\n".join(lines) + "\n"


def _short_row(entry: RegistryEntry, purpose: str) -> str:
    window = "" if entry.context is None else f"{entry.context:,}"
    facts = (entry.skills[purpose], count_text(entry.parameters), window, entry.licence)
    return f"| `{entry.id}` | {' | '.join(str(fact) for fact in facts)} |"


def _long_row(entry: RegistryEntry) -> str:
    sizes = ", ".join(f"{name} {size_text(size)}" for name, size in entry.sizes.items())
    pages = ", ".join(f"[{page.split('/', 3)[3]}]({page})" for page in entry.sources)
    return f"| `{entry.id}` | {entry.description} | {sizes} | {pages} |"


_CLI_HEAD = """\
# Command line

<!-- Made by `python -m ollm_tui.cli.reference`; do not edit. -->

The options of `ollm` may stand before or after an action such as `config show`.
"""


def pages() -> Mapping[str, str]:
    """Return every page by its path in the repository."""
    return {
        "config.example.toml": example_text(),
        "docs/reference/config.md": config_page(),
        "docs/reference/cli.md": cli_page(),
        "docs/reference/ollm.1": man_page(),
        **{f"docs/reference/{name}": text for name, text in completion_files().items()},
        "docs/reference/model-list.md": model_list_page(),
    }


def cli_page() -> str:
    """Return the reference page of the command line."""
    lines = [_CLI_HEAD, *_section(build_parser(), frozenset()), "## Exit codes\n"]
    lines += ["| Code | Means |", "|---|---|", *(f"| {code} | {t} |" for code, t in EXIT_CODES)]
    return "\n".join(lines).rstrip() + "\n"


def _section(parser: argparse.ArgumentParser, known: frozenset[str]) -> Iterator[str]:
    commands = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    named = [a for a in parser._actions if not a.option_strings and a not in commands]
    yield f"## `{' '.join([parser.prog, *(str(a.metavar) for a in named)])}`\n"
    if parser.description:
        yield f"{parser.description[:1].upper()}{parser.description[1:].rstrip('.')}.\n"
    if named:
        yield "| Name | Meaning |\n|---|---|"
        yield from (f"| `{a.metavar}` | {a.help} |" for a in named)
        yield ""
    # Every command takes the options of `ollm`; its own are what it has beside them.
    options = [a for a in parser._actions if a.option_strings and a.dest not in known]
    if options:
        yield "| Option | Meaning |\n|---|---|"
        yield from (f"| `{_spelled(option)}` | {option.help} |" for option in options)
        yield ""
    for group in commands:
        # An alias leads to the same parser again.
        for inner in dict.fromkeys(group.choices.values()):
            yield from _section(inner, known | {option.dest for option in options})


def _spelled(option: argparse.Action) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    return ", ".join(f"{name}{value}" for name in option.option_strings)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages, or with `--check` say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(argv)
    output, code = Output(), OK
    for name, text in pages().items():
        path = given.folder / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if given.check:
            output.note(f"{path} is out of date; run `python -m ollm_tui.cli.reference`.")
            code = ERROR
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
