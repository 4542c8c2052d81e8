"""The embedding model behind the search for similar messages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.protocol.blocks import EmbeddingContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import Request, Response
from ollm_tui.runtime.media.task_models import embedding_model_here
from ollm_tui.store.conversations import FILE_NAME
from ollm_tui.store.search.similar import SimilarSearch

if TYPE_CHECKING:
    from ollm_tui.providers.router import ResolvedModel
    from ollm_tui.runtime.compose import Runtime

USUAL_WINDOW: Final = 512
"""The window of a model that does not report its own, in tokens."""
PER_TOKEN: Final = 3
"""Characters of a token in a text of ASCII; less than usual, so that most texts fit at once."""
MIN_CHARACTERS: Final = 16
_PERHAPS_TOO_LONG: Final = frozenset(
    {
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        ErrorCode.BAD_REQUEST,
        ErrorCode.INTERNAL_ERROR,
        ErrorCode.ENGINE_ERROR,
    }
)
"""How servers refuse a text that is longer than their window or batch."""


def similar_search(runtime: "Runtime") -> SimilarSearch:
    """Return what finds similar messages in the saved chats of a runtime."""
    path = runtime.paths.data_dir / FILE_NAME
    return SimilarSearch(path, ChatEmbedder(runtime), is_on=runtime.config.search.similar)


class ChatEmbedder:
    """Makes embeddings with the model that the settings name, else the only one here."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime
        self._model: ResolvedModel | None = None

    async def find_model(self) -> str:
        """Return the address of the model, with what changes when its file does.

        Raises:
            AIError: there is none, or several, or its provider is on the internet.
        """
        return _identity(await self._resolved())

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float] | None]:
        """Return a vector for each text, cut to the model's window.

        Raises:
            AIError: the model cannot be used.
        """
        model = await self._resolved()
        window = model.info.context if model.info is not None else None
        cut = [cut_text(text, window or USUAL_WINDOW) for text in texts]
        try:
            return await _vectors(model, cut)
        except AIError as error:
            if error.code == ErrorCode.MODEL_NOT_FOUND:
                self._model = None  # another one may be there by now
            if error.code not in _PERHAPS_TOO_LONG:
                raise
            return await _one_by_one(model, cut)

    async def _resolved(self) -> "ResolvedModel":
        if self._model is None:
            self._model = (await embedding_model_here(self._runtime)).model
        return self._model


def cut_text(text: str, window: int) -> str:
    """Return the beginning of a text that fits into a window, by estimate."""
    text = text[: window * PER_TOKEN]
    return text if text.isascii() else text[: window * PER_TOKEN // 2]


async def _one_by_one(
    model: "ResolvedModel", texts: Sequence[str]
) -> Sequence[Sequence[float] | None]:
    """Shorten each text until the model takes it.

    Raises:
        AIError: it takes none of them, however short.
    """
    vectors: list[Sequence[float] | None] = []
    problem: AIError | None = None
    for text in texts:
        vector, length = None, len(text)
        while vector is None and length:
            try:
                (vector,) = await _vectors(model, [text[:length]])
            except AIError as error:
                if error.code not in _PERHAPS_TOO_LONG:
                    raise
                problem = error
                length = length // 2 if length > MIN_CHARACTERS else 0
        vectors.append(vector)
    if problem is not None and not any(vectors):
        raise problem
    return vectors


async def _vectors(model: "ResolvedModel", texts: Sequence[str]) -> Sequence[Sequence[float]]:
    request = Request(
        model=model.ref.model,
        input=[TextContent(text) for text in texts],
        output="embedding",
        stream=False,
    )
    response = await model.provider.invoke(request)
    assert isinstance(response, Response)
    return [block.vector for block in response.content if isinstance(block, EmbeddingContent)]


def _identity(model: "ResolvedModel") -> str:
    info = model.info
    file = info.details.get("digest") or info.size_bytes if info is not None else None
    return f"{model.ref} {file or ''}".strip()
