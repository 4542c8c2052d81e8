"""Names of hidden files, and of files with keys; a path and its copies are judged by them alone.

In lower case. `NAMES` count anywhere, `FILES` only as files, `PATHS` are names in a row, and `APPS`
are folders below those where programs keep their settings and data.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from ollm_tui.lazy import lazy_re


def words(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())


NAMES: Final = words(
    """
    .ssh .gnupg .pki .password-store .age .step .acme.sh .netrc _netrc .authinfo .authinfo.gpg
    .git-credentials .gitcookies .cvspass .subversion .rhosts .shosts .xauthority .iceauthority
    .msmtprc .fetchmailrc .getmailrc .getmail .offlineimaprc .mbsyncrc .esmtprc .muttrc .mutt
    .thunderbird .mozilla .vnc .remmina .davfs2 .smbcredentials .cifscredentials .filezilla .lftp
    .weechat .irssi .duplicity .putty .electrum .bitcoin .ethereum .monero .aws .azure .kube
    .docker .oci .aliyun .bluemix .boto .s3cfg .passwd-s3fs .gsutil .dockercfg .dockerconfigjson
    .terraform.d .terraformrc terraform.rc .pulumi .vagrant.d .ansible .chef .databrickscfg
    .snowsql .snowflake .fly .netlify .railway .supabase .cloudflared .wrangler .ngrok2 .minikube
    .openstack .rclone.conf .vault-token .vault_token .vault-pass .vault_pass .vault_password
    .vault_pass.txt vault_pass.txt .op .bw .tailscale .sops .chamber .npmrc .pypirc .pgpass
    pgpass.conf .pg_service.conf .my.cnf .mylogin.cnf .htpasswd .odbc.ini .kaggle .huggingface
    .wandb .cometml .comet.config .jupyter .ipython .dbt .oauth .databricks .openai .anthropic
    .codex .gemini .ollama .aider.conf.yml .claude.json .continue .nuget .lesshst .viminfo
    .dbshell .zsh_sessions .bash_sessions .histfile .rhistory .secrets .secret .credentials .token
    .tokens .api_key .api_keys .apikey .passwords keyrings keychains
    """
)
FILES: Final = words(
    """
    credentials.json credentials.db access_tokens.db wallet.dat key3.db key4.db logins.json
    signons.sqlite cookies.sqlite kubeconfig rclone.conf ngrok.yml kaggle.json shadow gshadow
    shadow- gshadow- sudoers opasswd ipsec.secrets chap-secrets pap-secrets wpa_supplicant.conf
    sitemanager.xml recentservers.xml authinfo netrc pgpass stored_tokens deploy_key
    credentials.tfrc.json accesstokens.json azureprofile.json msal_token_cache.json
    msal_token_cache.bin service_principal_entries.json wg0.conf wg1.conf credentials.clj
    .credentials.json oauth_creds.json
    """
) | {"login data", "web data", "local state", "login data for account"}
SUFFIXES: Final = tuple(
    words(
        """
    .pem .key .p8 .pk8 .p12 .pfx .pkcs12 .jks .jceks .bks .bcfks .keystore .kdbx .kdb .kwl .gpg
    .pgp .ppk .keytab .keychain .keychain-db .psafe3 .opvault .agilekeychain .1pif .1pux .agekey
    .ovpn .nmconnection .tfstate .tfvars .kubeconfig .dockerconfigjson .htpasswd .credentials
    .secret .secrets .api_key .apikey
    """
    )
)
PATHS: Final = frozenset(
    tuple(path.split("/"))
    for path in words(
        """
        .git/credentials .hg/hgrc .svn/auth gh/hosts.yml gh/hosts.yaml glab-cli/config.yml
        gcloud/access_tokens.db gcloud/legacy_credentials doctl/config.yaml hub/config
        .bundle/config .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties
        .sbt/credentials .ivy2/.credentials .lein/credentials.clj .hex/hex.config
        .composer/auth.json composer/auth.json containers/auth.json opencode/auth.json
        huggingface/token huggingface/stored_tokens github-copilot/hosts.json
        github-copilot/apps.json io.datasette.llm/keys.json .claude/.credentials.json  .config/hub
        .config/pip .pip/pip.conf .config/configstore run/secrets ssl/private  etc/wireguard
        etc/letsencrypt etc/openvpn etc/ipsec.d networkmanager/system-connections
        kubernetes/admin.conf kubernetes/pki .nuget/nuget powershell/psreadline
        nushell/history.txt  bash/history zsh/history fish/fish_history python/history
        wireguard/wg0.conf  .config/rclone .config/gcloud docker/config.json .atom/.apmrc
        .yarn/.yarnrc.yml
        """
    )
)
APP_PARENTS: Final = (
    ".config",
    ".cache",
    ".local/share",
    ".local/state",
    "library/application support",
    "appdata/roaming",
    "appdata/local",
    "dotfiles",
    ".dotfiles",
)
APPS: Final = words(
    """
    gh gh-copilot glab-cli hub tea gcloud azure doctl hcloud linode-cli heroku netlify vercel fly
    com.vercel.cli railway ngrok rclone sops age op 1password bitwarden configstore firebase
    stripe github-copilot io.datasette.llm opencode aichat mods shell_gpt openai anthropic claude
    wandb kaggle pip nuget composer containers google-chrome chromium bravesoftware microsoft-edge
    vivaldi opera mozilla firefox thunderbird slack discord signal telegram element weechat irssi
    neomutt mutt msmtp isync mbsync filezilla lftp remmina borg restic rustic tailscale wireguard
    kwalletd keyrings atuin hg jupyter ansible databricks snowflake kube helm argocd vault
    .wrangler evolution geary psreadline seahorse gnupg keepassxc ollm
    """
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
_MAX_FORMS: Final = 40
_ENVIRONMENT: Final = lazy_re(r"\.env(?:rc)?(?:[._ -].*)?|.*\.env")
_KEY_FILE: Final = lazy_re(
    r"\.?id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._ -].*)?"
    r"|ssh_host_.*_key"
    r"|[^.]+[_-](?:rsa|dsa|ecdsa|ed25519)"
    r"|krb5cc_.*|client_secret[s_-].*\.json|service[-_]?account[^.]*\.json|.*\.tfstate\..*"
)
_HISTORY: Final = lazy_re(
    r"\.[a-z0-9_.+-]*hist(?:ory|file)?(?:\.(?:txt|sqlite|db|json))?"
    r"|(?:fish|bash|zsh|ksh|ash|sh|psql|mysql|sqlite|python|node_repl|irb|consolehost)_history"
    r"(?:\.(?:txt|sqlite|db|json))?"
)
_DATE: Final = r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.t ]?\d\d[-_.:h]?\d\d(?:[-_.:]?\d\d)?)?z?"
_ENDS: Final = lazy_re(
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
_BEGINS: Final = lazy_re(
    r"(?:copy[ _-]of[ _-]|(?:backup|bak|old|orig|copy)[ _.-]|kopie von |copie de |\.?~lock\."
    r"|~\$?|\.?#|\._|.*[%!])"
)
_UNSEEN: Final = lazy_re(
    r"[\s\u200b-\u200f\u2060\ufeff\u00ad]+\Z|[\u200b-\u200f\u2060\ufeff\u00ad]"
)


def is_hidden(name: str) -> bool:
    """Return whether a name is left out of listings unless requested."""
    return name.startswith(".")


def is_secret(names: Sequence[str]) -> bool:
    """Return whether a path leads to or through a place of passwords or keys, by its names."""
    return any(
        is_secret_at(names[: end + 1], is_folder=end < len(names) - 1) for end in range(len(names))
    )


def is_secret_at(names: Sequence[str], *, is_folder: bool) -> bool:
    """Return whether the last of the names is such a place; the others are not checked."""
    above = [_plain(name) for name in names[-4:-1]]
    in_repository = any(_plain(name).endswith(".git") for name in names[:-1])
    return any(
        _is_place(above, name)
        or (in_repository and name in {"config", "config.worktree"})
        or (not is_folder and _is_file(name))
        for name in original_names(names[-1])
    )


def original_names(name: str) -> Iterator[str]:
    """Yield a name, case-folded, and the names that it may be a copy of."""
    waiting = [_plain(name)]
    known = set(waiting)
    for form in waiting:  # grows during the loop
        yield form
        for origin in _origins(form):
            if origin not in known and len(known) < _MAX_FORMS:
                known.add(origin)
                waiting.append(origin)


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    if not folded.isprintable():
        folded = "".join(c for c in folded if unicodedata.category(c)[0] != "C") or folded
    return _UNSEEN.sub("", folded).rstrip(".") or folded


def _origins(form: str) -> Iterator[str]:
    """Yield what a name may have been before one step of copying."""
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
    return is_named_so or (ending in _DATA - {"txt"} and not _WORDS.isdisjoint(parts))
