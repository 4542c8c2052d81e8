from textual.app import App, ComposeResult

from ollm_tui.commands.parse import Suggestions
from ollm_tui.commands.registry import Completion
from ollm_tui.tui.composer.completions import MAX_ROWS, Completions, Menu, open_menu


def menu(count: int, index: int | None = 0) -> Menu:
    items = tuple(Completion(f"item{number}", f"help {number}") for number in range(count))
    return Menu(Suggestions(0, "i", items), index)


class ListApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Completions()


def rows(widget: Completions) -> list[str]:
    return [widget.render_line(y).text.split()[0] for y in range(widget.size.height)]


async def test_it_is_as_high_as_its_list_up_to_a_limit() -> None:
    app = ListApp()
    async with app.run_test() as pilot:
        widget = app.query_one(Completions)
        assert not widget.display
        for count, height in ((3, 3), (50, MAX_ROWS), (1, 1)):
            widget.show(menu(count))
            await pilot.pause()
            assert widget.size.height == height
        widget.show(None)
        assert not widget.display


async def test_it_scrolls_to_the_chosen_one() -> None:
    app = ListApp()
    async with app.run_test() as pilot:
        widget = app.query_one(Completions)
        shown = menu(50)
        widget.show(shown)
        await pilot.pause()
        assert rows(widget)[0] == "item0"
        for _ in range(MAX_ROWS):
            shown = shown.moved(1)
            widget.show(shown)
        assert rows(widget)[-1] == f"item{MAX_ROWS}"
        widget.show(shown.moved(-1))
        assert rows(widget)[0] == "item1"
        widget.show(menu(50, 49))
        assert rows(widget)[-1] == "item49"


async def test_it_leaves_half_of_a_short_screen_and_still_shows_the_chosen_one() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 8)) as pilot:
        widget = app.query_one(Completions)
        widget.show(menu(50, 20))
        await pilot.pause()
        assert rows(widget) == ["item17", "item18", "item19", "item20"]


def test_moving_begins_at_either_end() -> None:
    assert menu(3, None).moved(1).index == 0
    assert menu(3, None).moved(-1).index == 2
    assert menu(3, 2).moved(1).index == 0
    assert menu(3, None).chosen is None


def test_nothing_is_chosen_before_a_letter_or_for_an_example() -> None:
    some = (Completion("a"),)
    assert open_menu(None) is None
    for suggestions, index in (
        (Suggestions(0, "/", some), 0),
        (Suggestions(7, "", some), None),
        (Suggestions(7, "a", (Completion("a", is_example=True),)), None),
    ):
        opened = open_menu(suggestions)
        assert opened is not None
        assert opened.index == index
