"""Variables say what they hold: some names say nothing."""

import tokenize

from tests.architecture.modules import PACKAGE

VAGUE = {"found", "said", "told", "deed", "deeds", "sight"}


def test_no_name_is_one_that_says_nothing() -> None:
    vague = []
    for path in sorted(PACKAGE.rglob("*.py")):
        with tokenize.open(path) as file:
            names = (token for token in tokenize.generate_tokens(file.readline) if token.type == 1)
            vague += [
                f"{path.relative_to(PACKAGE)}:{name.start[0]} {name.string}"
                for name in names
                if name.string.strip("_") in VAGUE
            ]
    assert vague == []
