"""What tests of saved chats share."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the chats of a test are saved."""
    return tmp_path / "chats.db"
