"""Settings of what goes on beside the chat: tools, commands, search, sound and downloads."""

from pydantic import Field

from ollm_tui.config.values import (
    Command,
    FilePath,
    Network,
    SearchServer,
    Seconds,
    SettingsSection,
    Text,
    Whole,
)


class ToolSettings(SettingsSection):
    """What models may do beside talking; nothing by default."""

    enabled: list[Text] = Field(
        [],
        description="Tools that new chats offer, see /tools; `all` is every tool that only reads.",
        examples=[["read_file", "search_files"]],
    )
    root: FilePath | None = Field(
        None,
        description="The only folder that file tools see; not set is where the app starts.",
        examples=["~/notes"],
    )
    network: bool = Field(False, description="Whether commands of models have the network.")
    private_networks: list[Network] = Field(
        [],
        description="Private networks that `web_fetch` may reach; none by default.",
        examples=[["192.168.1.0/24"]],
    )
    search_url: SearchServer | None = Field(
        None,
        description="Address of the SearXNG server that `web_search` asks.",
        examples=["http://127.0.0.1:8888"],
    )


class ShellSettings(SettingsSection):
    """How commands run that you type after a `!`."""

    timeout_s: Seconds = Field(120, description="Time limit for one command, in seconds.")
    background_s: Seconds = Field(
        3600,
        description="Time limit for a command of a model that runs in the background, in seconds.",
    )
    variables: list[Text] = Field(
        [],
        description="Further variables of the environment that commands get; those whose names "
        "sound like keys are left out.",
        examples=[["JAVA_HOME"]],
    )


class SearchSettings(SettingsSection):
    """How saved chats are searched."""

    similar: bool = Field(
        False,
        description="Search all chats for messages of similar meaning too, with the model of "
        "`embedding` below [defaults], else with the only embedding model of this machine.",
    )


class SoundSettings(SettingsSection):
    """How the app records and plays sound."""

    record_command: Command | None = Field(
        None,
        examples=["arecord -q -f S16_LE -r 16000 -c 1 -t wav -"],
        description="Program that records: it prints a WAV file until it is ended; not set is the "
        "microphone of this machine. No shell runs it.",
    )
    play_command: Command | None = Field(
        None,
        examples=["pw-play -"],
        description="Program that plays what it reads; not set is the sound output of this "
        "machine. No shell runs it.",
    )
    longest_recording_s: Seconds = Field(
        300, description="Maximum length of a recording, in seconds."
    )
    voice: Text | None = Field(
        None, examples=["nova"], description="Voice of /speak; not set is up to the model."
    )


class DownloadSettings(SettingsSection):
    """How models are downloaded."""

    at_once: Whole = Field(
        2, ge=1, le=16, description="Number of downloads that run at the same time."
    )
