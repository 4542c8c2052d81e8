"""The reference page of the built-in list of models."""

from collections.abc import Iterator

from ollm_tui.cli.figures import size_text
from ollm_tui.cli.registry_rows import count_text
from ollm_tui.library.registry.entry import PURPOSES, RegistryEntry
from ollm_tui.library.registry.known import CuratedList, load_curated

_HEAD = """\
# Models of the built-in list

<!-- Made by `python -m ollm_tui.cli.reference` from models.json; do not edit. -->

{count} open models, chosen by hand, as their publishers' pages described them; put together on
{date}. How it is used: [find and rate models](../guides/registry.md).

Skills are coarse, from 1 (weak) to 5 (among the best open models of any size), for `small` how much
a model makes of little memory; each rests on the first page named in its row. Sizes are about
those of published files, without a vision model's picture encoder.
"""


def model_list_page(listed: CuratedList | None = None) -> str:
    """Give the page, one table for each purpose."""
    known = listed or load_curated()
    lines = [_HEAD.format(count=len(known.entries), date=known.date)]
    for purpose, meaning in PURPOSES.items():
        held = [entry for entry in known.entries if purpose in entry.purposes]
        held.sort(key=lambda entry: (-entry.skills[purpose], entry.parameters or 0, entry.id))
        lines += [f"## {purpose.capitalize()}\n", f"{meaning.capitalize()}.\n"]
        lines += ["| Model | Skill | Parameters | Window | Licence |", "|---|---|---|---|---|"]
        lines += [_short_row(entry, purpose) for entry in held]
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
    pages = ", ".join(_links(entry))
    return f"| `{entry.id}` | {entry.description} | {sizes} | {pages} |"


def _links(entry: RegistryEntry) -> Iterator[str]:
    for page in entry.sources:
        yield f"[{page.split('/', 3)[3]}]({page})"
