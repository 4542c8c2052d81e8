"""Pictures made by Pillow, for tests that need real ones."""

from io import BytesIO

import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

KINDS = ("png", "jpeg", "gif", "webp", "bmp")
RED, BLUE, GREEN = (255, 0, 0), (0, 0, 255), (0, 160, 0)


def flat(kind: str = "png", size: tuple[int, int] = (64, 48), colour: object = RED) -> bytes:
    return saved(Image.new("RGB", size, colour), kind)


def halves(kind: str = "png", size: tuple[int, int] = (64, 48), orientation: int = 1) -> bytes:
    """The upper half is red, the lower one blue, as the pixels are stored."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (0, size[1] // 2, *size))
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(image, kind, **({"exif": exif} if orientation != 1 else {}))


def moving(kind: str = "gif") -> bytes:
    """A red picture that becomes blue."""
    frames = [Image.new("RGB", (20, 20), colour) for colour in (RED, BLUE)]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)


def saved(image: object, kind: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind.upper(), **options)  # type: ignore[attr-defined]  # Pillow may be absent
    return out.getvalue()


def bomb(width: int = 30_000, height: int = 30_000) -> bytes:
    """A PNG whose header promises far more than the file holds."""
    small = flat()
    return small[:16] + width.to_bytes(4, "big") + height.to_bytes(4, "big") + small[24:]
