"""`AbortSignal`: stops everything that works for one request."""

from collections.abc import Callable


class AbortSignal:
    """Stops the work for one request.

    Not thread-safe: abort on the event loop that runs the work. Use one signal per request, since
    an abort cannot be undone.
    """

    def __init__(self) -> None:
        self._aborted = False
        self._listeners: dict[object, Callable[[], object]] = {}

    @property
    def aborted(self) -> bool:
        """Whether `abort` was called."""
        return self._aborted

    def abort(self) -> None:
        """Stop the work; a second call is a no-op."""
        if self._aborted:
            return
        self._aborted = True
        listeners = list(self._listeners.values())
        self._listeners.clear()
        for listener in listeners:
            listener()

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` on abort, immediately if already aborted; return how to unsubscribe."""
        if self._aborted:
            listener()
            return lambda: None
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe
