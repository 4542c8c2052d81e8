"""Whether recording or playing is possible here, as far as can be told without doing it."""

import json
import os
import shutil
import subprocess
from typing import Final

import anyio

from ollm_tui.decode.json_fields import as_object, strings
from ollm_tui.decode.redact import without_secrets
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.device_child import NO_DEVICE
from ollm_tui.sound.program import LIST_DEVICES, Direction, SoundSetup

CHECK_S: Final = 2.0
"""How long the sound system may take to list its devices."""


async def check_sound(setup: SoundSetup, direction: Direction) -> str:
    """Return what records or plays: a device, or the command of the settings.

    No device is opened, and no command of the settings is started.

    Raises:
        AIError: there is none; the message says what would help.
    """
    program = setup.program(direction)
    if not program.is_device:
        if shutil.which(program.command[0]) is None:
            raise program.not_started(FileNotFoundError())
        return f"{direction}_command"
    try:
        with anyio.fail_after(CHECK_S):
            done = await anyio.run_process(
                [*LIST_DEVICES, direction],
                stdin=subprocess.DEVNULL,
                check=False,
                env=without_secrets(os.environ),
                start_new_session=True,
            )
    except TimeoutError:
        raise AIError(
            ErrorCode.TIMEOUT,
            "The sound system does not answer.",
            hint=f"Check the device. {program.ways}",
        ) from None
    if done.returncode:
        raise program.problem(done.returncode, "")
    names = strings(as_object(json.loads(done.stdout)).get("devices"))
    if not names:
        raise program.problem(NO_DEVICE, "")
    return names[0]
