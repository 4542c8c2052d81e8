"""How well a model fits what was typed; pure."""


def match_rank(query: str, name: str, provider: str, facts: str = "") -> int | None:
    """Rank a model, 0 the best; None if a word of the query fits nowhere.

    `name`, `provider` and `facts` are in small letters; a fact is found by its beginning.
    """
    total = 0
    for term in query.lower().split():
        rank = _term_rank(term, name, provider, facts)
        if rank is None:
            return None
        total += rank
    return total


def _term_rank(term: str, name: str, provider: str, facts: str) -> int | None:
    place = name.find(term)
    if place == 0:
        return 0
    if place > 0:
        return 1 if not name[place - 1].isalnum() else 2
    if term in provider:
        return 3
    if facts and f" {term}" in f" {facts}":
        return 4
    return 9 if _is_subsequence(term, name) else None


def _is_subsequence(term: str, name: str) -> bool:
    place = -1
    for letter in term:
        place = name.find(letter, place + 1)
        if place < 0:
            return False
    return True
