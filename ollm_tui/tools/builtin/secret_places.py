"""Known places of passwords, keys and what a person has typed; all in lower case.

`NAMES` count wherever they stand, `FILES` only where they are files, `PATHS` are names in a row,
and `APPS` are folders below those where programs keep their settings and data.
"""

from typing import Final


def words(text: str) -> frozenset[str]:
    """Give the words of a list that is written as a text."""
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
