"""`AbortSignal`: one caller's wish to stop, heard by everything working for it."""

from collections.abc import Callable


class AbortSignal:
    """Carries a stop request from the one who waits to the ones who work.

    Not safe across threads: abort on the event loop that runs the work. Each request wants a
    signal of its own, since a signal that was given cannot be taken back.
    """

    def __init__(self) -> None:
        self._aborted = False
        self._listeners: dict[object, Callable[[], object]] = {}

    @property
    def aborted(self) -> bool:
        """Whether `abort` was called."""
        return self._aborted

    def abort(self) -> None:
        """Stop the work; a second call does nothing."""
        if self._aborted:
            return
        self._aborted = True
        listeners = list(self._listeners.values())
        self._listeners.clear()
        for listener in listeners:
            listener()

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` once on abort (at once if that was before); returns the way out."""
        if self._aborted:
            listener()
            return lambda: None
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe
