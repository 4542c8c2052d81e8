"""`PoolProvider`: what every pool can do; `offers.py` adds what its members can."""

from collections.abc import Sequence

from ollm_tui.protocol.model import ModelCapability
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.gather import gather
from ollm_tui.providers.pool.choice import MemberSelection
from ollm_tui.providers.pool.stream import pooled_stream


class PoolProvider:
    """Servers of one kind that stand in for each other."""

    def __init__(self, choice: MemberSelection) -> None:
        self.name = choice.name
        self.label = choice.label
        self.streaming_format = choice.members[0].adapter.streaming_format
        self._choice = choice

    def chat_stream(self, request: Request) -> ProviderStream:
        """Ask the least busy member that has the model; another one if nobody is there."""
        return pooled_stream(self._choice, request)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Give the whole answer, or with `request.stream` the stream."""
        stream = self.chat_stream(request)
        return stream if request.stream else await gather(stream)

    def capabilities(self) -> Sequence[ModelCapability]:
        """What the members can do; they are of one kind."""
        return self._choice.members[0].adapter.capabilities()
