"""What `ollm models search` and `rate` take, and what was typed of it."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ollm_tui.library.registry.entry import PURPOSES

NO_STARS = "none"
STARS = ("1", "2", "3", "4", "5", NO_STARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """What a search of the registry, or a rating, takes beside a name."""

    text: str = ""
    purpose: str | None = None
    offline: bool = False
    stars: int | None = None
    """1 to 5; None takes a rating back."""


def add_search(action: argparse.ArgumentParser) -> None:
    """Add what a search takes."""
    about = "words that all must be in name, family, licence, purposes or description"
    action.add_argument("text", metavar="TEXT", nargs="*", help=about)
    about = f"only models for this: {', '.join(PURPOSES)}"
    action.add_argument("--purpose", metavar="PURPOSE", choices=tuple(PURPOSES), help=about)
    about = "do not query the hub; search the built-in list, the cache and the installed models"
    action.add_argument("--offline", action="store_true", help=about)


def add_rate(action: argparse.ArgumentParser) -> None:
    """Add what a rating takes beside the name."""
    about = "1 to 5, or none to remove the rating"
    action.add_argument("stars", metavar="STARS", choices=STARS, help=about)


def registry_options(said: Mapping[str, Any]) -> RegistryOptions:
    """Give what was typed."""
    stars = said.get("stars", NO_STARS)
    return RegistryOptions(
        text=" ".join(said.get("text", ())),
        purpose=said.get("purpose"),
        offline=said.get("offline", False),
        stars=None if stars == NO_STARS else int(stars),
    )
