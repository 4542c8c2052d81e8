"""What all tables of the settings file have in common."""

from pydantic import BaseModel, ConfigDict


class SettingsSection(BaseModel):
    """A table: fixed once read, closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
