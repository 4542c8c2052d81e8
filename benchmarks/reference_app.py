"""The reference for start-up: the least Textual app with one Input and one Markdown widget."""

from textual.app import App, ComposeResult
from textual.widgets import Input, Markdown


class Reference(App[None]):
    """What a chat costs before it is one."""

    CSS = "Input { dock: bottom; }"

    def compose(self) -> ComposeResult:
        """Return the two widgets."""
        yield Markdown("# Hello")
        yield Input(placeholder="Say something")

    def on_mount(self) -> None:
        """Take keys at once."""
        self.query_one(Input).focus()


if __name__ == "__main__":
    Reference().run()
