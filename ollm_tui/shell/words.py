"""Single plain commands: only these can be covered by a permission that outlasts one question.

Anything else is asked about as a whole: several commands, redirections, expansions, and commands
that run other ones. What is not understood counts as anything else.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from ollm_tui.lazy import lazy_re

_PLAIN: Final = lazy_re(r"[A-Za-z0-9_@%+:,./=-]+")
_SINGLE: Final = lazy_re(r"'([ -&(-~]*)'")
_DOUBLE: Final = lazy_re(r'"([ #%-\[\]^_a-~]*)"')
_MAX_LENGTH: Final = 4_000
_WRAPPER_NAMES: Final = """
. alias ash at awk bash batch bg bind builtin busybox case chroot chrt command coproc cpulimit
csh dash dbus-run-session dd declare direnv disown docker doas do done elif else emacs enable
entr env esac eval exec exit expect export fakeroot fc fg fi find firejail fish flatpak flock
for function gawk gdb getopts hash if in ionice jobs ksh kubectl launchctl let local logout
ltrace mapfile mawk mksh more less nawk nc ncat netcat nice nohup nsenter nvim osascript
parallel perf pkexec podman popd pushd read readarray readonly return rsh rsync run-parts
runuser scp screen script sed select set setarch setpriv setsid sftp sh shift shopt socat source
ssh sshpass start-stop-daemon stdbuf strace su sudo systemd-run taskset tar tclsh tcsh telnet
then time timeout tmux toybox trap typeset ulimit umask unalias unbuffer unset unshare until vi
view vim wait watch while xargs xterm zip zsh
"""
_WRAPPERS: Final = frozenset(_WRAPPER_NAMES.split())
"""Commands that run others, or change how the rest is understood."""
_CODE: Final = frozenset(
    {"-c", "-e", "-E", "-p", "-m", "-r", "--eval", "--print", "-exec", "--command"}
)
_INTERPRETER: Final = lazy_re(r"(?:python|pypy|node|deno|bun|perl|ruby|php|lua|Rscript)[\d.]*")
REST: Final = "*"
"""At the end of a pattern: any further words that are no options."""


def plain_words(command: str) -> tuple[str, ...] | None:
    """Return the words of a single plain command; None for anything else."""
    text = command.strip(" ")
    if not text or len(text) > _MAX_LENGTH:
        return None
    words: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        word, at = _word(text, at)
        if word is None:
            return None
        words.append(word)
    # A quoted `*` is a word of its own: kept as a permission it would stand for any words.
    is_plain = bool(words) and REST not in words and not _runs_others(words)
    return tuple(words) if is_plain else None


def _word(text: str, at: int) -> tuple[str | None, int]:
    """Return the word at a place without its quotes, or None if it is not plain, and its end."""
    parts: list[str] = []
    while at < len(text) and text[at] != " ":
        for form in (_PLAIN, _SINGLE, _DOUBLE):
            if (match := form.match(text, at)) is not None:
                parts.append(match[1] if form.groups else match[0])
                at = match.end()
                break
        else:
            return None, at
    return "".join(parts), at


def _runs_others(words: Sequence[str]) -> bool:
    first = words[0]
    name = PurePosixPath(first).name
    if "=" in first or first.startswith(("-", "%", "+")) or name in _WRAPPERS or not name:
        return True
    if _INTERPRETER.fullmatch(name):
        return any(word in _CODE or word[:2] in {"-c", "-e", "-m"} for word in words[1:])
    # an option of git that names a program, in front of its command
    return name == "git" and any(
        word.startswith(("-c", "--exec", "--config")) for word in words[1:]
    )


def fits(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a pattern covers the words of a command."""
    if pattern[-1] != REST:
        return list(pattern) == list(words)
    fixed = list(pattern[:-1])
    rest = list(words[len(fixed) :])
    return (
        list(words[: len(fixed)]) == fixed
        and bool(fixed)
        and not any(word.startswith("-") for word in rest)
    )


def read_pattern(text: str) -> tuple[str, ...] | None:
    """Read a pattern as the user writes it, such as `git log *`; None if it covers no command."""
    ends_open = text.rstrip().endswith(f" {REST}")
    words = plain_words(text.rstrip().removesuffix(REST) if ends_open else text)
    return None if words is None else (*words, REST) if ends_open else words
