"""What is left of the pieces of an answer after some were taken back."""

from collections.abc import Iterable

from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece, ThinkPiece, WithdrawnPiece


def kept(pieces: Iterable[ThinkPiece]) -> list[TextPiece | ThinkingPiece]:
    """Return the pieces that still count, neighbours of one kind joined."""
    left: list[TextPiece | ThinkingPiece] = []
    for piece in pieces:
        if isinstance(piece, WithdrawnPiece):
            left.clear()
        elif left and type(left[-1]) is type(piece):
            left[-1] = type(piece)(left[-1].text + piece.text)
        else:
            left.append(piece)
    return left


def joined(pieces: Iterable[ThinkPiece], kind: type[TextPiece | ThinkingPiece]) -> str:
    """Return the text of all pieces of one kind that still count."""
    return "".join(piece.text for piece in kept(pieces) if isinstance(piece, kind))
