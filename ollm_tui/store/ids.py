"""Names for conversations and messages that sort by their time of birth."""

import secrets
import uuid

_RANDOM_BITS = 74


def new_id(now_ms: int) -> str:
    """Make a UUID of version 7 (RFC 9562): milliseconds first, then chance."""
    chance = secrets.randbits(_RANDOM_BITS)
    high, low = chance >> 62, chance & ((1 << 62) - 1)
    number = (now_ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    return str(uuid.UUID(int=number))
