from tests.support.svg import svg_snapshot

__all__ = ["svg_snapshot"]
