"""A permission for commands never lets a compound or wrapped command through."""

import random

import pytest

from ollm_tui.shell.words import fits, plain_words, read_pattern

PATTERNS = [
    "git status",
    "git log *",
    "ls *",
    "cat *",
    "pytest *",
    "npm test",
    "make build",
    "echo *",
]

ALLOWED = r"""
git status
git  status
'git' "status"
git log
git log main
git log main..topic
git log v1.0
ls
ls src
ls src tests/unit
ls 'a b'
ls "a b"
ls 'a;b'
ls 'a && b'
ls 'a|b'
ls 'a$(b)'
ls "a;b"
ls a=b
cat notes.md
cat ./notes.md
cat a.txt b.txt
cat 'x > y'
pytest tests/test_a.py
pytest tests/test_a.py::test_b
npm test
make build
echo hello
echo 'rm -rf /'
echo a,b
echo a@b:c/d
""".strip().split("\n")

ASKED = r"""
git status; rm -rf /
git status;rm -rf /
git status && rm x
git status&&rm x
git status || rm x
git status | sh
git status|sh
git status & rm x
git status &
git status `rm x`
git status $(rm x)
git status "$(rm x)"
git status "`rm x`"
git status $HOME
git status ${IFS}x
git${IFS}status
git status > x
git status >> x
git status >x
git status 2>x
git status < x
git status <(rm x)
git status >(rm x)
git status <<x
git status <<<x
git status # x
git status !x
git status -s
git status --output=x
git log --output=x
git log -p
git log --ext-diff
git log main --output=x
git log {a,b}
git log $'a'
git log "$x"
git log main; x
git log \; x
git -c core.pager=x log
git -c alias.status='!x' status
git --exec-path=x status
git --config-env=a=b log
git -C /etc status
PAGER=x git log
PAGER=x git status
GIT_SSH_COMMAND=x git status
env git status
env -i git status
env PAGER=x git status
time git status
timeout 5 git status
nice git status
nice -n 5 git status
nohup git status
ionice git status
stdbuf -o0 git status
setsid git status
sudo git status
doas git status
su -c 'git status'
xargs git status
xargs -I{} git status
parallel git status ::: x
find . -exec git status +
find . -delete
sh -c 'git status'
bash -c 'git status'
bash -lc 'git status'
zsh -c 'git status'
dash x
exec git status
eval git status
eval 'git status'
command git status
builtin echo x
. x
source x
alias ls=rm
trap 'x' EXIT
export PATH=.
set -e
cd /
pushd x
watch git status
script -c 'git status'
ssh host git status
ssh -o ProxyCommand=x host
rsync -e x a b
scp a b
tar --checkpoint-action=exec=x cf a b
tar cf a b
zip a b
sed -e 's/a/b/e' x
sed -n 1p x
awk 'BEGIN { system("x") }'
gawk x
perl -e x
python -c x
python3 -c x
python3.11 -cx
python3 -m http.server
node -e x
node --eval x
node -p x
ruby -e x
php -r x
lua -e x
vim x
vi x
less x
more x
docker run x
podman run x
kubectl exec x
strace git status
gdb x
nsenter x
unshare x
chroot x
screen -dm x
tmux new x
socat x y
nc host 1
busybox sh
git status
rm x
""".strip().split("\n")

ODD = [
    "git status\nrm x",
    "git status\r\nrm x",
    "git status\rrm x",
    "git\tstatus",
    "git status\x0brm",
    "git status\x00rm",
    "git status\u00a0x",
    "git status \u202e x",
    "git status \\\nrm x",
    "\ngit status",
    "git status\n",
    "git log 'unclosed",
    'git log "unclosed',
    "ls *",
    "ls ?",
    "ls [a]",
    "ls ~",
    "ls ~root",
    "ls !$",
    "ls -la",
    "ls --color",
    "cat -",
    "cat x <&3",
    "(git status)",
    "{ git status; }",
    "! git status",
    "[[ x ]] && git status",
    "if git status; then x; fi",
    "for i in 1; do git status; done",
    "function x { git status; }",
    "x() { git status; }",
    "git () { rm x; }",
    "coproc git status",
    "git status 'a'$(x)",
    "git status \"a\"'b'`x`",
    "git status '*'",
    'git log "*"',
    "git log '*' main",
    "",
    " ",
    "=x",
    "%1",
    "-x",
    " ".join(["git status;"] * 51),
]
ASKED_ALL = [*(line for line in ASKED if line != "git status"), *ODD]


def is_allowed(command: str) -> bool:
    words = plain_words(command)
    patterns = [read_pattern(one) for one in PATTERNS]
    assert None not in patterns
    return words is not None and any(fits(one, words) for one in patterns if one is not None)


def test_the_corpus_is_large() -> None:
    assert len(set(ALLOWED) | set(ASKED_ALL)) >= 150


@pytest.mark.parametrize("command", ALLOWED)
def test_a_plain_command_that_a_pattern_names_is_allowed(command: str) -> None:
    assert is_allowed(command)


def test_everything_else_is_asked_about() -> None:
    assert [command for command in ASKED_ALL if is_allowed(command)] == []


def test_no_mutation_lets_a_second_command_through() -> None:
    chance = random.Random(7)
    pieces = [
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "\r",
        "$(x)",
        "`x`",
        ">x",
        "<x",
        "<(x)",
        "#",
        "\\",
        "!x",
    ]
    for _number in range(10_000):
        command = chance.choice([one for one in ALLOWED if "'" not in one and '"' not in one])
        at = chance.randrange(1, len(command) + 1)
        mutated = f"{command[:at]}{chance.choice(pieces)}{command[at:]}"
        assert not is_allowed(mutated), mutated


@pytest.mark.parametrize(
    "pattern", ["*", "git status; x", "sh *", "env *", "git -c x *", "a | *", "ls$x *"]
)
def test_a_pattern_that_would_cover_too_much_is_none(pattern: str) -> None:
    assert read_pattern(pattern) is None


def test_a_pattern_covers_options_only_if_it_names_them() -> None:
    pattern = read_pattern("git log -n *")
    assert pattern == ("git", "log", "-n", "*")
    assert fits(pattern, ("git", "log", "-n", "5"))
    assert not fits(pattern, ("git", "log", "-n", "5", "--output=x"))
    assert not fits(("git", "status"), ("git", "status", "x"))
