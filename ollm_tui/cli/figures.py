"""Sizes as people compare them in a table; `tui.figures` has what stands in a sentence."""


def size_text(size_bytes: float | None) -> str:
    """Give a size; nothing for an unknown one."""
    if size_bytes is None:
        return ""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit in {"B", "kB"} else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
