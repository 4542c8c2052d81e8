from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from ollm_tui.tui.painters.painter import Change, Offsets, line_anchor, locate_line
from ollm_tui.tui.painters.plain import plain_rows
from ollm_tui.tui.painters.rows import Row

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("set"), st.integers(0, 5), st.integers(0, 20)),
        st.tuples(st.just("pop"), st.just(0), st.just(0)),
        st.tuples(st.just("ask"), st.integers(0, 20), st.just(0)),
    ),
    max_size=30,
)


@given(actions=ACTIONS)
def test_offsets_agree_with_sums_whatever_is_changed_in_between(
    actions: list[tuple[str, int, int]],
) -> None:
    offsets, model = Offsets(), list[int]()
    for action, value, where in actions:
        if action == "append":
            offsets.append(value)
            model.append(value)
        elif action == "set" and model:
            offsets.set(where % len(model), value)
            model[where % len(model)] = value
        elif action == "pop" and model:
            offsets.pop()
            model.pop()
        elif action == "ask" and model:
            index = value % (len(model) + 1)
            assert offsets.start(index) == sum(model[:index])
    assert offsets.total == sum(model)
    for row in range(sum(model)):
        index, offset = offsets.find(row)
        assert 0 <= offset < model[index]
        assert sum(model[:index]) + offset == row


def test_merged_changes_hold_both_and_a_shift_wins() -> None:
    assert Change(3, 5).merge(Change(1, 2)) == Change(1, 5)
    assert Change(3, 5).merge(Change(4, None)) == Change(3, None)


@given(
    text=st.text(alphabet="ab \n", min_size=1, max_size=200),
    widths=st.tuples(st.integers(3, 30), st.integers(3, 30)),
    at=st.floats(0, 1, exclude_max=True),
)
def test_a_place_survives_wrapping_at_another_width(
    text: str, widths: tuple[int, int], at: float
) -> None:
    before = list(plain_rows(text, widths[0], Style()))
    after = list(plain_rows(text, widths[1], Style()))
    index = int(at * len(before))
    line, chars = line_anchor(before, index)
    found = locate_line(after, line, chars)
    assert line_anchor(after, found)[0] == line
    assert _line_of(before, index) == _line_of(after, found)
    assert locate_line(before, line, chars) == index


def _line_of(rows: list[Row], index: int) -> str:
    while index and rows[index].join is not None:
        index -= 1
    out = rows[index].text
    for row in rows[index + 1 :]:
        if row.join is None:
            break
        out += row.join + row.text
    return out.rstrip()
