"""Files that can run something are asked about each time, whatever is allowed."""

from pathlib import Path

import pytest

from ollm_tui.frontend.consent import Permissions
from ollm_tui.tools.writing.protected import is_protected
from tests.tools.writing.acting import Desk, Person

PATHS = """
home/u/.bashrc home/u/.bash_profile home/u/.profile home/u/.zshrc home/u/.zshenv home/u/.inputrc
home/u/.vimrc home/u/.tmux.conf home/u/.gdbinit home/u/.gitconfig home/u/.xinitrc
home/u/.config/fish/config.fish home/u/.config/nvim/init.lua home/u/.config/git/hooks/pre-commit
home/u/.config/autostart/x.desktop home/u/.config/systemd/user/x.service home/u/.local/bin/ls
home/u/.ssh/authorized_keys home/u/p/.git/hooks/pre-commit home/u/p/.git/config
home/u/p/.git/info/attributes home/u/p/.gitattributes home/u/p/.gitmodules home/u/p/.envrc
home/u/p/.vscode/tasks.json home/u/p/.idea/workspace.xml home/u/p/.github/workflows/ci.yml
home/u/p/.gitlab-ci.yml home/u/p/.pre-commit-config.yaml home/u/p/.husky/pre-push
home/u/p/.mcp.json home/u/p/.claude/settings.json home/u/p/AGENTS.md
home/u/p/.devcontainer/devcontainer.json home/u/p/conftest.py home/u/p/venv/x.pth etc/crontab
etc/cron.d/x etc/profile.d/x.sh var/spool/cron/u etc/ld.so.preload home/u/p/.BASHRC
home/u/p/.bashrc.bak home/u/p/.Git/Hooks/x home/u/p/sitecustomize.py
home/u/q/.git home/u/r/.GIT srv/repo.git/hooks/post-receive home/u/p/.github/copilot-instructions.md
"""


@pytest.mark.parametrize("path", PATHS.split())
def test_it_is_protected(path: str) -> None:
    assert is_protected(path.split("/"))


@pytest.mark.parametrize(
    "path", ["home/u/p/notes.md", "home/u/p/src/main.py", "srv/git/readme", "home/u/p/bin/x"]
)
def test_an_ordinary_file_is_not(path: str) -> None:
    assert not is_protected(path.split("/"))


GIVEN = {
    "write_file": {"content": "new\n"},
    "edit_file": {"old_text": "old", "new_text": "new"},
    "patch_file": {"patch": "@@ -1 +1 @@\n-old\n+new\n"},
}
FORTY = [path for path in PATHS.split() if path.startswith("home/u/")]


@pytest.mark.parametrize("name", GIVEN)
async def test_each_change_of_forty_places_is_asked_about_or_refused(
    tmp_path: Path, name: str
) -> None:
    """Whatever is allowed already: the mode, the chat, the folder."""
    allowed = Permissions()
    allowed.mode = "all"
    allowed.grant(name, "write")
    assert len(FORTY) + 4 >= 40
    for path in [*FORTY, ".bashrc", ".git/hooks/post-checkout", ".envrc", "AGENTS.md"]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("old\n")
        desk = Desk(tmp_path, Person(allows=False))
        result = await desk.call(name, path=path, **GIVEN[name])
        for preview in desk.person.previews:
            assert not allowed.allows(name, "write", preview), path
        assert result.outcome in {"denied", "failed"}
        assert file.read_text() == "old\n", path


async def test_no_standing_permission_covers_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    await desk.done("write_file", path=".bashrc", content="x\n")
    assert not desk.person.previews[-1].may_last
    assert "always asked about" in desk.person.previews[-1].summary
