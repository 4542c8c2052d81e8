"""Files that can run something or change what runs: a change of one is always asked about."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.lazy import lazy_re
from ollm_tui.tools.builtin.secrets import original_names, words

_NAMES: Final = words(
    """
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
    .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .xinitrc .xprofile .xsession .xsessionrc
    .vimrc .gvimrc .nvimrc .exrc .emacs .spacemacs .tmux.conf .screenrc .gdbinit .lldbinit .envrc
    .direnvrc .gitconfig .gitmodules .gitattributes .hgrc .pre-commit-config.yaml .lesskey .curlrc
    .wgetrc .pdbrc .pythonrc .irbrc .pryrc .rprofile .mcp.json mcp.json mcp_config.json
    .claude.json agents.md claude.md gemini.md skill.md .cursorrules crontab anacrontab
    ld.so.preload environment.d authorized_keys authorized_keys2 known_hosts conftest.py
    sitecustomize.py usercustomize.py .gitlab-ci.yml agents.override.md copilot-instructions.md
    .windsurfrules .clinerules mise.toml .mise.toml .tool-versions lefthook.yml .lefthook.yml
    pre-commit pre-push pre-rebase pre-receive commit-msg prepare-commit-msg post-commit
    post-checkout post-merge post-rewrite post-receive
    """
)
"""Names in lower case, anywhere in a path."""
_FOLDERS: Final = words(
    """
    .git .hg .svn .vscode .idea .husky .githooks .devcontainer .cursor .claude .codex .agents .ssh
    .gnupg .vim .emacs.d .circleci .direnv cron.d cron.daily cron.hourly cron.weekly cron.monthly
    autostart launchagents launchdaemons systemd init.d profile.d sudoers.d udev
    """
)
"""Folders with everything in them."""
_PATHS: Final = (
    (".github", "workflows"),
    (".github", "actions"),
    (".local", "bin"),
    (".config", "fish"),
    (".config", "nvim"),
    (".config", "git"),
    (".config", "environment.d"),
    ("etc",),
    ("spool", "cron"),
)
_ENDINGS: Final = lazy_re(r".*\.(?:pth|service|timer|desktop|plist|bashrc|zshrc)")


def is_protected(names: Sequence[str]) -> bool:
    """Return whether a change of a path, from the top of the disk, is always asked about."""
    forms = [set(original_names(name)) for name in names]
    # a file named .git leads to a folder with settings and hooks
    if any(forms[-1] & (_NAMES | _FOLDERS) or _ENDINGS.fullmatch(form) for form in forms[-1]):
        return True
    if any(form & (_FOLDERS | _NAMES) for form in forms[:-1]):
        return True
    return any(
        all(part in forms[start + step] for step, part in enumerate(path))
        for path in _PATHS
        for start in range(len(forms) - len(path))
    )
