import pytest

from tests.support.tiny_gguf import write_scripted


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a small scripted model."""
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    write_scripted(path)
    return path.read_bytes()
