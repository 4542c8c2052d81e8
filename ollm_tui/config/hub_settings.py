"""The table `[hub]` of the settings file."""

from pydantic import Field, PrivateAttr, SecretStr

from ollm_tui.config.backends import HUGGING_FACE
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.section import SettingsSection


class HubSettings(SettingsSection):
    """A hub of model files, and who asks it."""

    endpoint: str = Field(
        HUGGING_FACE,
        repr=False,  # may hold a name and a password
        description="Address of the hub: Hugging Face's own, or a mirror of it.",
    )
    token: SecretStr | None = Field(
        None,
        examples=["${WORK_HF_TOKEN}"],
        description='Token for gated and private models, best as "${NAME}"; sent to the hub alone.',
    )
    token_env: str | None = Field(
        None,
        examples=["WORK_HF_TOKEN"],
        description="Name of the environment variable that holds the token.",
    )
    _problem: ConfigProblem | None = PrivateAttr(None)

    @property
    def problem(self) -> ConfigProblem | None:
        """Why the hub cannot be asked; to be said where somebody wants to."""
        return self._problem

    def marked(self, problem: ConfigProblem | None) -> "HubSettings":
        """Give a copy with this mark; the file cannot set it."""
        copy = self.model_copy()
        copy._problem = problem
        return copy
