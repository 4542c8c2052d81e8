"""Settings of what goes on beside the chat: tools, commands, search, sound and downloads."""

from typing import Annotated

from ollm_tui.config.values import (
    Command,
    FilePath,
    Network,
    NoSwitch,
    SearchServer,
    Seconds,
    Text,
)
from ollm_tui.dataclass import dataclass
from ollm_tui.sections.marks import Bounds
from ollm_tui.sections.section import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings(Section):
    """What models may do beside talking; nothing by default."""

    enabled: list[Text] = setting(
        [],
        description="Tools that new chats offer, see /tools; `all` means every tool that only "
        "reads.",
        examples=[["read_file", "search_files"]],
    )
    root: FilePath | None = setting(
        None,
        description="The only folder that file tools can access; if not set, the folder in which "
        "the app starts.",
        examples=["~/notes"],
    )
    network: bool = setting(
        False, description="Whether commands run by models may use the network."
    )
    private_networks: list[Network] = setting(
        [],
        description="Private networks that `web_fetch` may reach; none by default.",
        examples=[["192.168.1.0/24"]],
    )
    search_url: SearchServer | None = setting(
        None,
        description="Address of the SearXNG server that `web_search` asks.",
        examples=["http://127.0.0.1:8888"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellSettings(Section):
    """How commands run that you type after a `!`."""

    timeout_s: Seconds = setting(120, description="Time limit for one command, in seconds.")
    background_s: Seconds = setting(
        3600,
        description="Time limit for a command that a model runs in the background, in seconds.",
    )
    variables: list[Text] = setting(
        [],
        description="Additional environment variables for commands; those whose names look like "
        "keys are left out.",
        examples=[["JAVA_HOME"]],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(Section):
    """How saved chats are searched."""

    similar: bool = setting(
        False,
        description="Search all chats for messages of similar meaning too, with the model of "
        "`embedding` below [defaults], or the only embedding model on this machine.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundSettings(Section):
    """How the app records and plays sound."""

    record_command: Command | None = setting(
        None,
        examples=["arecord -q -f S16_LE -r 16000 -c 1 -t wav -"],
        description="Program that records: it prints a WAV file until it is stopped; if not set, "
        "the microphone of this machine. Not run by a shell.",
    )
    play_command: Command | None = setting(
        None,
        examples=["pw-play -"],
        description="Program that plays a sound file from standard input; if not set, the sound "
        "output of this machine. Not run by a shell.",
    )
    longest_recording_s: Seconds = setting(
        300, description="Maximum length of a recording, in seconds."
    )
    voice: Text | None = setting(
        None, examples=["nova"], description="Voice of /speak; if not set, the model decides."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadSettings(Section):
    """How models are downloaded."""

    at_once: Annotated[int, Bounds(ge=1, le=16), NoSwitch] = setting(
        2, description="Number of downloads that run at the same time."
    )
