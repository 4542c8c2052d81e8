"""Values that are computed once for each item of a sequence that grows."""

from ollm_tui.decode.sequence_cache import KEPT, SequenceCache


class Item:
    """Equals every other one, so that only its identity counts."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item)

    __hash__ = None  # type: ignore[assignment]


class Counted:
    """Gives the number of the computation, and so tells which ones were made."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, _: Item) -> int:
        self.made += 1
        return self.made


def chat(count: int) -> list[Item]:
    return [Item() for _ in range(count)]


def test_only_what_was_added_is_computed() -> None:
    compute, items = Counted(), chat(3)
    cache = SequenceCache(compute)
    assert cache.values(items) == [1, 2, 3]
    assert cache.values([*items, Item()]) == [1, 2, 3, 4]
    assert cache.values([]) == []
    assert compute.made == 4


def test_what_comes_after_a_change_is_computed_again() -> None:
    cache, items = SequenceCache(Counted()), chat(4)
    cache.values(items)
    other = [*items[:2], Item(), items[3]]
    assert cache.values(other) == [1, 2, 5, 6]
    assert cache.values(other[:2]) == [1, 2]


def test_the_values_belong_to_the_caller() -> None:
    cache, items = SequenceCache(Counted()), chat(2)
    cache.values(items).clear()
    assert cache.values(items) == [1, 2]


def test_the_last_sequences_are_remembered_one_for_each_first_item() -> None:
    compute = Counted()
    cache = SequenceCache(compute)
    chats = [chat(2) for _ in range(KEPT)]
    for items in (*chats, *chats):
        cache.values(items)
    assert compute.made == 2 * KEPT
    cache.values(chat(1))  # the chat that was used first is forgotten
    cache.values(chats[0])
    assert compute.made == 2 * KEPT + 3


def test_a_computation_that_fails_leaves_nothing() -> None:
    def compute(number: int) -> float:
        return 1 / number

    cache = SequenceCache(compute)
    for _ in range(2):
        try:
            cache.values([1, 0])
        except ZeroDivisionError:
            continue
        raise AssertionError("it was computed")
    assert cache.values([1]) == [1.0]
