"""Parsers without input or output: what a server or a model wrote becomes typed pieces.

A decoder is a small object with two methods. ``feed(chunk)`` takes the next chunk, cut anywhere,
and returns the pieces that are now certain; ``finish()`` is called once at the end of the stream
and returns what was held back. The joined result never depends on where the chunks were cut, the
cost is linear in the input, and damaged input becomes a value or one typed ``ValueError``, never
another exception. Decoders know no sockets, no clocks and no providers.
"""


class LimitPassed(ValueError):
    """A server sent more than the limit; the text names what was too large, and the limit."""
