"""The whole of a download: it only grows, whatever the layers say."""

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.library.downloads.downloader import WINDOW_S
from ollm_tui.library.downloads.pull_download import MAX_LAYERS, PullSum
from ollm_tui.protocol.model import PullProgress
from tests.support.clock import ManualClock

SIZES = st.none() | st.integers(0, 2**53)
LINES = st.builds(
    PullProgress,
    status=st.sampled_from(["pulling manifest", "pulling a", "verifying sha256 digest", "success"]),
    digest=st.none() | st.sampled_from("abcd"),
    completed=SIZES,
    total=SIZES,
)


def layer(digest: str, completed: int | None, total: int | None) -> PullProgress:
    return PullProgress(status=f"pulling {digest}", digest=digest, completed=completed, total=total)


@given(st.lists(st.tuples(LINES, st.floats(0, 10))))
def test_nothing_goes_back_before_success_and_nothing_passes_its_end(
    lines: list[tuple[PullProgress, float]],
) -> None:
    clock = ManualClock(100.0)
    whole = PullSum(clock)
    completed, fraction = 0, 0.0
    for line, pause in lines:
        clock.now += pause
        if whole.status == "success":
            completed, fraction = 0, 0.0
        whole.add(line)
        assert whole.completed >= completed
        completed = whole.completed
        if whole.fraction is not None:
            assert fraction <= whole.fraction <= 1
            fraction = whole.fraction
        assert whole.status == line.status
        assert whole.bytes_per_s is None or whole.bytes_per_s > 0
        assert whole.seconds_left is None or whole.seconds_left >= 0


def test_layers_side_by_side_are_added_up() -> None:
    whole = PullSum(ManualClock(100.0))
    for line in (layer("a", 10, 100), layer("b", None, 50), layer("a", 100, 100)):
        whole.add(line)
    assert (whole.completed, whole.total) == (100, 150)
    whole.add(layer("b", 50, 50))
    whole.add(PullProgress(status="success"))
    assert (whole.completed, whole.total, whole.fraction) == (150, 150, 1.0)


def test_the_next_server_of_a_pool_counts_anew() -> None:
    whole = PullSum(ManualClock(100.0))
    for line in (layer("a", 100, 100), PullProgress(status="success"), layer("a", 10, 100)):
        whole.add(line)
    assert (whole.completed, whole.total, whole.fraction) == (10, 100, 0.1)


def test_a_server_that_tells_sizes_of_the_whole_is_understood() -> None:
    whole = PullSum(ManualClock(100.0))
    for completed, total in ((None, None), (10, 40), (30, 40)):
        whole.add(PullProgress(status="downloading", completed=completed, total=total))
    assert (whole.completed, whole.total, whole.fraction) == (30, 40, 0.75)


def test_a_layer_of_no_size_divides_nothing() -> None:
    whole = PullSum(ManualClock(100.0))
    for line in (layer("c", 0, 0), layer("d", None, None), PullProgress(status="success")):
        whole.add(line)
    assert (whole.completed, whole.total, whole.fraction) == (0, None, None)


def test_speed_is_that_of_the_last_seconds_and_not_of_what_was_there_before() -> None:
    clock = ManualClock(100.0)
    whole = PullSum(clock)
    whole.add(layer("a", None, 1000))
    whole.add(layer("a", 400, 1000))
    assert whole.bytes_per_s is None, "the 400 were there before"
    for completed in (410, 420):
        clock.now += 1
        whole.add(layer("a", completed, 1000))
    assert [whole.bytes_per_s, whole.seconds_left] == [10, 58]
    for completed in range(420, 820, 40):
        clock.now += 1
        whole.add(layer("a", completed + 40, 1000))
    assert whole.bytes_per_s == 40
    clock.now += WINDOW_S * 2
    whole.add(layer("a", 820, 1000))
    clock.now += WINDOW_S * 2
    whole.add(layer("a", 820, 1000))
    assert whole.bytes_per_s is None, "it stands still"


def test_a_server_that_makes_up_layers_without_end_costs_bounded_memory() -> None:
    whole = PullSum(ManualClock(100.0))
    for number in range(MAX_LAYERS + 10):
        whole.add(layer(str(number), 1, 1))
    assert whole.total == MAX_LAYERS
