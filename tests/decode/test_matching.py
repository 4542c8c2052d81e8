"""Fuzzy matching: the whole word first, scattered letters last."""

from ollm_tui.decode.matching import best_rank, rank


def test_ranks_go_from_the_whole_word_to_scattered_letters() -> None:
    words = ["model", "models", "a-model", "remodel", "m-o-d-e-l"]
    ranks = [ranked for word in words if (ranked := rank("model", word)) is not None]
    assert len(ranks) == len(words)
    assert ranks == sorted(ranks)
    assert len({kind for kind, _ in ranks}) == 5
    assert rank("model", "mode") is None


def test_case_does_not_count() -> None:
    assert rank("LLAMA", "llama") == (0, 0)
    assert rank("stra\u00dfe", "STRASSE") == (0, 0)


def test_the_best_of_several_words_counts() -> None:
    assert best_rank("model", ["remodel", "models"]) == rank("model", "models")
    assert best_rank("model", ["mode", "x"]) is None
    assert best_rank("model", []) is None
