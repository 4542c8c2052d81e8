"""Every view is read out, or refused with a sentence that says where else it is."""

from typing import Any, get_args
from unittest.mock import MagicMock

from ollm_tui.commands.host import View
from ollm_tui.linear.views import Views


async def test_a_view_that_is_missing_is_refused_with_a_sentence() -> None:
    chat: Any = MagicMock()
    views = Views(chat, MagicMock())
    assert set(views.missing) == {"themes", "stats", "queue", "focus"}
    assert set(views.missing) < set(get_args(View))
    for view in views.missing:
        await views.show(view)
        [words] = chat.say.call_args.args
        assert words.endswith((".", "them."))
    assert "ollm --theme" in str(chat.say.call_args_list)
