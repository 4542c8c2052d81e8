"""Imports a file until it is killed: python -m tests.exchange.importing_program STORE FILE."""

import sys
from pathlib import Path

import anyio

from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.store.conversations import open_store


def report(_file: ImportFile, result: ImportResult) -> None:
    sys.stdout.write(f"{result.chats}\n")
    sys.stdout.flush()


async def import_until_killed(store: Path, file: Path) -> None:
    async with open_store(store) as opened:
        await import_files([file], opened.records, report, ImportResult())


if __name__ == "__main__":
    anyio.run(import_until_killed, Path(sys.argv[1]), Path(sys.argv[2]))
