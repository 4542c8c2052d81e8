"""Counts of the pieces of a conversation, so that a growing one is never counted twice."""

from collections.abc import Iterable, Sequence

from ollm_tui.tokens.estimate import CountText, Piece, piece_tokens


class Tally:
    """Counts pieces and remembers those of the last request.

    Pieces are told apart by identity: a conversation keeps its blocks and calls, and they do not
    change. What is no longer part of the request is forgotten.
    """

    def __init__(self, count_text: CountText) -> None:
        self._count_text = count_text
        self._known: dict[int, tuple[Piece, int]] = {}

    def count(self, groups: Iterable[Iterable[Piece]]) -> Sequence[int]:
        """Give the tokens of each group; may run in a thread."""
        known, fresh = self._known, dict[int, tuple[Piece, int]]()
        sums = []
        for group in groups:
            total = 0
            for piece in group:
                # The piece is kept beside its count, so no other can have come by its id.
                found = known.get(id(piece)) or (piece, piece_tokens(piece, self._count_text))
                fresh[id(piece)] = found
                total += found[1]
            sums.append(total)
        self._known = fresh
        return sums
