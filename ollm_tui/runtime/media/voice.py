"""Speech for a front end: the models that speak and transcribe, and the devices of this machine."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from ollm_tui.config.flags import Flags
from ollm_tui.decode.clean import clean
from ollm_tui.decode.json_fields import present
from ollm_tui.protocol.blocks import AudioContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.media.encoding import base64_bytes
from ollm_tui.runtime.media.task_models import model_for_task
from ollm_tui.sound.player import Player
from ollm_tui.sound.program import SoundSetup
from ollm_tui.sound.recorder import Recorder

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue
    from ollm_tui.providers.router import ResolvedModel
    from ollm_tui.runtime.compose import Runtime

SpeechTask: TypeAlias = Literal["speech", "transcription"]


class Voice:
    """Speaks, transcribes, records and plays, as the settings say."""

    def __init__(
        self,
        runtime: "Runtime",
        environ: Mapping[str, str] | None = None,
        *,
        backend: str | None = None,
    ) -> None:
        self._runtime = runtime
        self._settings = runtime.config.sound
        self._setup = SoundSetup(
            record_command=self._settings.record_command or (),
            play_command=self._settings.play_command or (),
            environ=os.environ if environ is None else environ,
            backend=backend,
        )
        self._models: dict[SpeechTask, ResolvedModel] = {}
        self._chosen: dict[SpeechTask, str | None] = {}
        """The default that each model was found with."""

    @property
    def longest_recording_s(self) -> float:
        """The limit of a recording."""
        return self._settings.longest_recording_s

    def recorder(self) -> Recorder:
        """Return what records.

        Raises:
            AIError: UNSUPPORTED_FEATURE if there is no microphone in this session.
        """
        return Recorder(program=self._setup.program("record"), max_seconds=self.longest_recording_s)

    def player(self) -> Player:
        """Return what plays.

        Raises:
            AIError: UNSUPPORTED_FEATURE if there is no sound output in this session.
        """
        return Player(self._setup.program("play"))

    async def find_model(self, task: SpeechTask) -> str:
        """Find the model for a task, and return its address as people write it.

        Raises:
            AIError: there is none, or several; the message says what would help.
        """
        default = self._runtime.task_defaults.name(task)
        model = self._models.get(task) if self._chosen.get(task) == default else None
        if model is None:
            self._chosen[task] = default
            choice = await model_for_task(task, self._runtime, Flags(), in_app=True)
            model = self._models[task] = choice.model
        return self._runtime.catalog.shown_address(model.ref)

    async def transcribe(self, sound: bytes) -> str:
        """Return the words of a recording, on one line.

        Raises:
            AIError: any failure.
        """
        request = Request(
            model=await self._model("transcription"),
            input=[AudioContent(data=sound)],
            output="text",
            stream=False,
        )
        response = await self._invoke("transcription", request)
        return " ".join(clean(response.text).split())

    async def speak(self, text: str) -> bytes:
        """Return the sound of a text.

        Raises:
            AIError: any failure.
        """
        body: dict[str, JsonValue] = {"response_format": "wav"}
        body |= present({"voice": self._settings.voice})
        request = Request(
            model=await self._model("speech"),
            input=text,
            output="audio",
            options=GenerationOptions(extra_body=body),
            stream=False,
        )
        response = await self._invoke("speech", request)
        sounds = [one.data for one in response.content if isinstance(one, AudioContent)]
        if not sounds or sounds[0] is None:
            raise AIError(ErrorCode.ENGINE_ERROR, "The model sent no sound.")
        return base64_bytes(sounds[0])

    async def _model(self, task: SpeechTask) -> str:
        await self.find_model(task)
        return self._models[task].ref.model

    async def _invoke(self, task: SpeechTask, request: Request) -> Response:
        try:
            response = await self._models[task].provider.invoke(request)
        except AIError:
            self._models.pop(task, None)  # another one may be there by the next time
            raise
        assert isinstance(response, Response)
        return response
