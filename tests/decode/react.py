"""What a reader sees of a ReAct turn."""

from collections.abc import Iterable
from dataclasses import dataclass

from ollm_tui.decode.react import ReActParser, ReActPiece
from ollm_tui.decode.react_call import ReActCall, ReActProblem
from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece


@dataclass(frozen=True)
class Turn:
    thought: str
    answer: str
    call: ReActCall | None
    problem: ReActProblem | None


def read(chunks: Iterable[str], *, complete: bool = True) -> Turn:
    """Feed these chunks to a new parser."""
    parser = ReActParser()
    pieces = [piece for chunk in chunks for piece in parser.feed(chunk)]
    assert not any(isinstance(piece, ReActCall) for piece in pieces), "a call comes at the end"
    pieces += parser.finish(complete=complete)
    calls = [piece for piece in pieces if isinstance(piece, ReActCall)]
    assert len(calls) <= 1
    return Turn(
        _joined(pieces, ThinkingPiece),
        _joined(pieces, TextPiece),
        calls[0] if calls else None,
        parser.problem,
    )


def _joined(pieces: list[ReActPiece], kind: type[TextPiece] | type[ThinkingPiece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, kind))
