"""Where secrets lie on people's machines, how copies of them are named, and what only looks so."""

from collections.abc import Iterator
from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split()))


PLACES: Final = _words("""
.env .env.local .env.production .env.development.local .env-staging .env_prod .envrc prod.env
docker/web.env app/.env.test .netrc _netrc .authinfo .git-credentials .gitcookies .npmrc
.pypirc .pgpass .my.cnf .mylogin.cnf .pg_service.conf .odbc.ini .htpasswd site/.htpasswd
.cvspass .ssh/id_rsa .ssh/id_dsa .ssh/id_ecdsa .ssh/id_ed25519 .ssh/id_ed25519_sk
.ssh/id_ecdsa_sk .ssh/config .ssh/known_hosts .ssh/authorized_keys .ssh/work .ssh/agent/x
keys/id_rsa keys/id_ed25519_sk keys/id_ecdsa_sk keys/id_rsa_github keys/id_ed25519.work
keys/github_rsa keys/deploy_ed25519 keys/id_xmss etc/ssh_host_rsa_key etc/ssh_host_ed25519_key
.gnupg/secring.gpg .gnupg/private-keys-v1.d/x .gnupg/pubring.kbx keys/a.pem keys/a.key
keys/a.p8 keys/a.p12 keys/a.pfx keys/a.jks keys/a.ppk keys/a.kdbx keys/a.keytab
keys/a.keystore keys/a.gpg keys/a.ovpn keys/a.nmconnection keys/a.psafe3 .aws/credentials
.aws/config .aws/sso/cache/x.json .aws/cli/cache/x.json .azure/accessTokens.json
.azure/msal_token_cache.json .azure/azureProfile.json .azure/config
.config/gcloud/credentials.db .config/gcloud/access_tokens.db
.config/gcloud/application_default_credentials.json
.config/gcloud/legacy_credentials/x/adc.json .boto .gsutil/x .s3cfg .passwd-s3fs .oci/config
.aliyun/config.json .kube/config .kube/cache/x kubeconfig work/kubeconfig.yaml
k8s/prod.kubeconfig .docker/config.json .docker/contexts/x .dockercfg .dockerconfigjson
.config/containers/auth.json .config/doctl/config.yaml .config/hcloud/cli.toml
.config/linode-cli .config/rclone/rclone.conf rclone.conf .config/heroku/x .fly/config.yml
.netlify/config.json .cloudflared/cert.pem .ngrok2/ngrok.yml .config/ngrok/ngrok.yml
.terraform.d/credentials.tfrc.json .terraformrc infra/terraform.tfstate
infra/terraform.tfstate.backup infra/terraform.tfvars infra/prod.auto.tfvars
.pulumi/credentials.json .vault-token .vault_pass .databrickscfg .snowsql/config .ansible/x
.chef/x .vagrant.d/insecure_private_key .config/gh/hosts.yml .config/gh/config.yml
dotfiles/gh/hosts.yml .config/hub .config/glab-cli/config.yml .config/git/credentials
.config/github-copilot/hosts.json .config/github-copilot/apps.json .config/op/config
.config/configstore/x.json .config/stripe/config.toml .cargo/credentials
.cargo/credentials.toml .gem/credentials .bundle/config .m2/settings.xml
.m2/settings-security.xml .gradle/gradle.properties .composer/auth.json
.config/composer/auth.json .config/pip/pip.conf .pip/pip.conf .nuget/NuGet/NuGet.Config
.hex/hex.config .sbt/.credentials .ivy2/.credentials .lein/credentials.clj .kaggle/kaggle.json
.huggingface/token .cache/huggingface/stored_tokens .wandb/x .config/wandb/settings
.jupyter/jupyter_server_config.json .ipython/profile_default/history.sqlite .codex/auth.json
.claude/.credentials.json .claude.json .gemini/oauth_creds.json .openai/x .anthropic/x
.config/openai/x .config/io.datasette.llm/keys.json .local/share/opencode/auth.json
.ollama/id_ed25519 .aider.conf.yml .password-store/a.gpg .local/share/keyrings/login.keyring
Library/Keychains/login.keychain-db .local/share/kwalletd/kdewallet.kwl
.mozilla/firefox/x.default/logins.json .mozilla/firefox/x.default/key4.db
.mozilla/firefox/x.default/cookies.sqlite .config/google-chrome/Default/Cookies
.config/chromium/Default/x .thunderbird/x/logins.json .config/Signal/config.json
.config/Slack/Cookies .config/discord/x .bitcoin/wallet.dat old/wallet.dat .electrum/wallets/x
.msmtprc .config/msmtp/config .fetchmailrc .offlineimaprc .mbsyncrc .muttrc
.config/neomutt/neomuttrc .smbcredentials .davfs2/secrets .filezilla/sitemanager.xml
.config/filezilla/recentservers.xml .vnc/passwd .remmina/x.remmina
.local/share/remmina/x.remmina .subversion/auth/svn.simple/x .hg/hgrc repo/.hg/hgrc
repo/.git/config repo/.git/credentials repo/.git/modules/sub/config bare.git/config
.Xauthority .ICEauthority .step/secrets/x .acme.sh/account.conf .pki/nssdb/key4.db .rhosts
.bash_history .zsh_history .zhistory .histfile .sh_history .ksh_history .ash_history .history
.python_history .node_repl_history .irb_history .pry_history .psql_history .mysql_history
.sqlite_history .rediscli_history .mongo_history .dbshell .lesshst .viminfo .Rhistory
.julia_history .php_history .duckdb_history .local/share/fish/fish_history
.config/nushell/history.txt .local/state/bash/history .local/share/atuin/history.db
.zsh_sessions/x.history AppData/Roaming/gcloud/x.db
AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine/ConsoleHost_history.txt credentials
credentials.json credentials.yml credentials.toml secrets.json secrets.yml secrets.yaml
secrets.toml secrets.ini secret.yaml k8s/my-credentials.yml creds.json client_secret_1.json
client_secret.json service-account.json service_account_key.json
my-service-account-credentials.json app-firebase-adminsdk-x.json gha-creds-1.json
passwords.txt passwords.csv chrome-passwords.csv password.txt api_key.txt api-keys.json
apikey.txt access-token.txt token.json .secrets .token .api_key config/master.key etc/shadow
etc/gshadow etc/sudoers etc/ipsec.secrets etc/ppp/chap-secrets etc/wireguard/wg0.conf
etc/ssl/private/x.crt etc/NetworkManager/system-connections/x run/secrets/db
wpa_supplicant.conf krb5cc_1000
""")
"""Relative to a home; what stands in the file is of no known form."""

_COPIED: Final = (
    ".env",
    ".netrc",
    ".npmrc",
    "credentials.json",
    "id_ed25519_sk",
    ".bash_history",
    "a.pem",
    "secrets.yml",
)
_COPIES: Final = _words("""
{0}~ {0}.~1~ {0}.bak {0}.bak2 {0}.bak.2 {0}-bak {0}_backup {0}.backup {0}.old {0}.orig
{0}.save {0}.save.1 {0}.1 {0}.swp {0}.swo {0}.un~ #{0}# .#{0} ._{0} .~lock.{0}# {0}.20240131
{0}.2024-01-31 {0}-20240131-235959 {0}_2024-01-31_23.59 {0}.tmp {0}.new {0}.dpkg-old
{0}.rpmsave {0}.gz {0}.txt {0}.orig.1 {0}.bak~ {0}.LOCAL.123 %home%me%{0}
""")
_SPACED: Final = ("{0} (1)", "{0} copy", "{0} (copy)", "{0} - Copy", "Copy of {0}", "{0} ", "{0} 2")


def copies() -> Iterator[str]:
    """Give the names that copies of a few secrets get, and other cases of them."""
    for name in _COPIED:
        yield from (form.format(name) for form in (*_COPIES, *_SPACED))
        yield name.upper()
        yield f"{name}."
    yield from ("credentials (1).json", "credentials-old.json", "credentials.bak.json")
    yield from (
        "credentials copy.json",
        ".credentials.json.swp",
        "..env.AbC123",
        ".\uff45\uff4e\uff56",
        ".en\u200bv",
    )
    yield from (".ssh.bak/id", ".aws~/x", ".config/gh.old/hosts.yml", ".AWS/Credentials")


ORDINARY: Final = _words("""
environment.md environment.py environments.json keyboard.py keys.py key.md keymap.toml
history.md history.txt History.tsx order_history .envrc.example .env.example .env.sample
.env.production.example .env.template.bak env.d.ts my.env.sample credentials_test.py
credentials.py docs/credentials.md credentials.example.json credentials.schema.json
src/credentials/store.py src/secrets/manager.py secrets.py secrets.md secretary.txt token.py
tokens.json tokenizer.json tokenizer_config.json token_count.txt password_reset.html
passwords.md passwordless.md auth.py auth.go vault.md keyring.py keychain.swift id_rsa.pub
id_rsa.py id_ed25519.pub id_card.png.txt monkey.txt turkey.csv hockey.json config config.json
config/app.yml config/settings.yml config/vault.yml hosts.yml hosts kube.py kubernetes.md
docker-compose.yml Dockerfile .dockerignore .gitignore .gitattributes .gitconfig .editorconfig
.bashrc .profile .vimrc .github/workflows/ci.yml package.json package-lock.json
terraform/main.tf terraform/variables.tf public.asc cert.crt notes.txt notes.bak notes~
notes.1 release-2024-01-31.md README.md README.old Makefile src/main.rs share/doc/index.html
local/app.py known_issues.txt shadow.css shadow.py wallet.py ssh.md aws.md netrc.py
git-credentials.md .config/nvim/init.lua .config/app/config.toml .local/share/app/data.json
git/config.md
""")
"""What has such a name and no secrets: it stays readable."""
