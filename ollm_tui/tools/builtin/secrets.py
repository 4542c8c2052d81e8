"""Which names are hidden, and which hold keys that no model needs to see.

A path is judged by its names alone: by place (`.ssh`, `.config/gh`), by the name of the file
(`credentials.json`, `id_ed25519_sk`), and with both for what editors, package managers and people
make of a name when they keep a copy (`.env~`, `#x#`, `credentials (1).json`, `.netrc.bak.2`).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from ollm_tui.tools.builtin.secret_places import (
    APP_PARENTS,
    APPS,
    FILES,
    NAMES,
    PATHS,
    SUFFIXES,
    words,
)

_EXAMPLES: Final = frozenset({"example", "sample", "template", "dist", "tmpl", "schema"})
_DATA: Final = words(
    """
    json yml yaml toml ini cfg conf config csv tsv xml properties plist txt db sqlite sqlite3 dat
    env key
    """
)
_SOURCE: Final = words(
    """
    py pyi ipynb js mjs cjs ts tsx jsx go rs c h cc cpp hpp java kt rb php cs swift scala ex exs
    hs ml lua pl md rst adoc html css scss vue svelte
    """
)
_STEMS: Final = words(
    """
    credentials credential creds secret secrets password passwords passphrase apikey apikeys
    accesskey accesskeys clientsecret clientsecrets serviceaccount serviceaccountkey privatekey
    masterkey authtoken accesstoken accesstokens refreshtoken oauthtoken oauthtokens oauthcreds
    awscredentials kubeconfig applicationdefaultcredentials token rootkey
    """
)
_WORDS: Final = frozenset({"credentials", "credential", "creds", "adminsdk", "passwords"})
_PARENTS: Final = tuple(path.split("/") for path in APP_PARENTS)
_MOST_FORMS: Final = 40
_ENVIRONMENT: Final = re.compile(r"\.env(?:rc)?(?:[._ -].*)?|.*\.env")
_KEY_FILE: Final = re.compile(
    r"\.?id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._ -].*)?"
    r"|ssh_host_.*_key"
    r"|[^.]+[_-](?:rsa|dsa|ecdsa|ed25519)"
    r"|krb5cc_.*|client_secret[s_-].*\.json|service[-_]?account[^.]*\.json|.*\.tfstate\..*"
)
_HISTORY: Final = re.compile(
    r"\.[a-z0-9_.+-]*hist(?:ory|file)?(?:\.(?:txt|sqlite|db|json))?"
    r"|(?:fish|bash|zsh|ksh|ash|sh|psql|mysql|sqlite|python|node_repl|irb|consolehost)_history"
    r"(?:\.(?:txt|sqlite|db|json))?"
)
_DATE: Final = r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.t ]?\d\d[-_.:h]?\d\d(?:[-_.:]?\d\d)?)?z?"
_ENDS: Final = re.compile(
    r"(?:~|\.~\d+~"
    r"|[._ -](?:bak|backup|bck|bkp|bk|back|old|orig|original|save|saved|sav|copy|tmp|temp|new|prev"
    r"|previous|last|rpmsave|rpmnew|rpmorig|dpkg-\w+|ucf-\w+|pacsave|pacnew|pacorig|sw[a-z]"
    r"|kate-swp|un~|part|partial|lock|disabled|off|local|remote|base|mine|theirs|rej|orig_head"
    r"|gz|bz2|xz|zst|lz4|zip|7z|tar|tgz|txt|plain|decrypted)[-_.]?\d*"
    rf"|[._ -]+{_DATE}"
    r"|[._ -]v?\d+"
    r"|[ _-]*\(\d+\)"
    r"|[ _-]+\(?(?:another |\d*\w\w )?(?:copy|kopie|copie|copia|kopia|duplicate)\)?[ _]?\(?\d*\)?"
    r")\Z"
)
_BEGINS: Final = re.compile(
    r"(?:copy[ _-]of[ _-]|(?:backup|bak|old|orig|copy)[ _.-]|kopie von |copie de |\.?~lock\."
    r"|~\$?|\.?#|\._|.*[%!])"
)
_UNSEEN: Final = re.compile(
    r"[\s\u200b-\u200f\u2060\ufeff\u00ad]+\Z|[\u200b-\u200f\u2060\ufeff\u00ad]"
)


def is_hidden(name: str) -> bool:
    """Tell whether a name is left out of lists unless asked for."""
    return name.startswith(".")


def is_secret(names: Sequence[str]) -> bool:
    """Tell whether a path leads through or to what keeps passwords or keys, by its names."""
    return any(
        is_secret_at(names[: end + 1], is_folder=end < len(names) - 1) for end in range(len(names))
    )


def is_secret_at(names: Sequence[str], *, is_folder: bool) -> bool:
    """Tell whether the last of the names is such a place; those before it are not asked about."""
    above = [_plain(name) for name in names[-4:-1]]
    in_repository = any(_plain(name).endswith(".git") for name in names[:-1])
    return any(
        _is_place(above, name)
        or (in_repository and name in {"config", "config.worktree"})
        or (not is_folder and _is_file(name))
        for name in original_names(names[-1])
    )


def original_names(name: str) -> Iterator[str]:
    """Give a name, folded, and those that it may be a copy of."""
    waiting = [_plain(name)]
    known = set(waiting)
    for form in waiting:  # grows meanwhile
        yield form
        for origin in _origins(form):
            if origin not in known and len(known) < _MOST_FORMS:
                known.add(origin)
                waiting.append(origin)


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    if not folded.isprintable():
        folded = "".join(c for c in folded if unicodedata.category(c)[0] != "C") or folded
    return _UNSEEN.sub("", folded).rstrip(".") or folded


def _origins(form: str) -> Iterator[str]:
    """Give what a name may have been before one step of copying."""
    stem, dot, ending = form.rpartition(".")
    if ending := ending if dot and ending in _DATA else "":
        yield from (f"{origin}.{ending}" for origin in _cut(stem))
    for origin in _cut(form):
        yield origin
        # vim hides its copies: .credentials.swp
        if origin.startswith("."):
            yield origin[1:]
    # rsync, mktemp
    if form.startswith(".") and len(stem) > 1 and len(form) - len(stem) == 7:
        yield stem[1:]


def _cut(form: str) -> Iterator[str]:
    if (end := _ENDS.search(form)) and end.start() > 0:
        yield form[: end.start()]
    if (begun := _BEGINS.match(form)) and begun.end() < len(form):
        yield form[begun.end() :].rstrip("#")


def _is_place(above: Sequence[str], name: str) -> bool:
    if name in NAMES or (*above[-1:], name) in PATHS:
        return True
    is_app = above[-1:] in _PARENTS or above[-2:] in _PARENTS
    return is_app and name in APPS


def _is_file(name: str) -> bool:
    parts = re.split(r"[-_. ~#]+", name.strip(".~#"))
    ending = parts[-1] if "." in name.lstrip(".") else ""
    if _EXAMPLES.intersection(parts) or ending in _SOURCE or ".pub" in name:
        return False
    if name in FILES or name.endswith(SUFFIXES):
        return True
    if any(form.fullmatch(name) for form in (_ENVIRONMENT, _KEY_FILE, _HISTORY)):
        return True
    is_data = ending in _DATA
    stem = "".join(parts[:-1] if is_data else parts)
    is_named_so = stem in _STEMS and (is_data or "." not in name.lstrip("."))
    return is_named_so or _tells(parts, ending)


def _tells(parts: Sequence[str], ending: str) -> bool:
    return ending in _DATA - {"txt"} and not _WORDS.isdisjoint(parts)
