"""A program that indexes in small slices until it is killed: `python -m ... FILE`."""

import sys
from pathlib import Path

from ollm_tui.store.search import indexer
from ollm_tui.store.search.index_file import IndexPlace


def main(path: Path) -> None:
    indexer.SLICE_ROWS = 5  # type: ignore[misc]
    with indexer.indexing(IndexPlace(path)) as one:
        assert one is not None
        for _ in one.run():
            sys.stdout.write("slice\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
