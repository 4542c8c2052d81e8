"""A row of `ACTIONS` is all that a new action on a model needs beside the methods of adapters."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json
from types import MappingProxyType

import anyio

from ollm_tui.models import actions

row = actions.ActionInfo(
    methods=("pin_model",),
    ability="pin models",
    command="pin",
    help="pin a model",
    chat_help="Pin a model.",
    menu=actions.MenuEntry("pin", "f11", "Pin", "pin", details_name="pin"),
)
actions.ACTIONS = MappingProxyType({**actions.ACTIONS, "pin": row})

from ollm_tui.cli.arguments import parse
from ollm_tui.cli.models import models_action
from ollm_tui.commands import COMMANDS
from ollm_tui.providers.operations import method_of
from ollm_tui.providers.pool import Member, pool_of
from ollm_tui.runtime.checkup import _offers
from ollm_tui.runtime.manager import unavailable_reasons
from ollm_tui.tui.keys.table import KEYS, MODEL_COMMANDS, named_commands
from tests.chat.puppets import PuppetProvider

pinned = []


class Pinning(PuppetProvider):
    async def pin_model(self, name):
        pinned.append((self.name, name))


pool = pool_of("team", "Team", [Member(Pinning(name=name), name) for name in "ab"])
anyio.run(method_of(pool, "pin"), "tiny")
print(json.dumps({
    "action": parse(["models", "pin", "tiny"]).action,
    "runs": callable(models_action("pin")),
    "menu": [*MODEL_COMMANDS].index("pin"),
    "slash": [one.signature for one in COMMANDS if one.help == "Pin a model."],
    "line": "pin" in [one.action for one in named_commands(is_loaded=True)],
    "keys": [key.id for key in KEYS if "f11" in key.keys],
    "pool": sorted(pinned),
    "doctor": "pin" in _offers(pool),
    "reasons": [
        unavailable_reasons(one, "here", None, None)["pin"] for one in (pool, PuppetProvider())
    ],
}))
"""


def test_a_row_is_all_that_an_action_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "action": "pin",
        "runs": True,
        "menu": 3,
        "slash": ["/pin [MODEL]"],
        "line": True,
        "keys": ["models.pin", "details.pin"],
        "pool": [["a", "tiny"], ["b", "tiny"]],
        "doctor": True,
        "reasons": [None, "Scripted cannot pin models."],
    }
