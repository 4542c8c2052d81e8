"""Every numbered property has a Hypothesis test, and the list that says so would notice."""

import pytest

from scripts.properties import CORE, ROOT, claims_in, faults, properties, read

TITLE = "# Feature: stage-02-core-provider, Property 1: Provider Registration and Retrieval"
SETTINGS = "@settings(max_examples=100)"
GOOD = f"""
{TITLE}
# And what it means.
@settings(max_examples=100)
@given(x=st.text())
def test_it(x): ...
"""


def test_every_property_is_held_by_a_test() -> None:
    assert faults(read(ROOT / "tests")) == []
    assert len([*properties()]) == 35 + 24


def docstring_of(source: str) -> str:
    wrong = faults([*claims_in(source, "t.py")])
    return "\n".join(fault for fault in wrong if not fault.endswith(": no test"))


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        f"@given(x=st.text())\n{TITLE}\n@settings(max_examples=300)\ndef test_it(x): ...",
        f"{SETTINGS}\n@hypothesis.given(x=1)\nasync def test_it(x):\n    1\n    {TITLE}\n    2\n",
        f"class Tests:\n    {TITLE}\n    {SETTINGS}\n    @given(x=1)\n    def test_it(s, x): ...\n",
    ],
)
def test_a_comment_above_among_the_decorators_or_inside_counts(source: str) -> None:
    (claim,) = claims_in(source, "t.py")
    assert (claim.key, claim.test, claim.fault) == ((CORE, 1), "test_it", None)
    assert docstring_of(source) == ""
    assert f"{CORE}, Property 1:" not in "\n".join(faults([claim]))
    assert f"{CORE}, Property 2: Default Provider Resolution: no test" in faults([claim])


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (GOOD.replace("100", "99"), "has 99 examples"),
        (GOOD.replace("100", "MANY"), "plain number"),
        (GOOD.replace("@settings(max_examples=100)\n", ""), "no number of examples"),
        (GOOD.replace("@given(x=st.text())", ""), "no Hypothesis test"),
        (GOOD.replace("Retrieval", "Return"), "the title is"),
        (GOOD.replace("Property 1:", "Property 36:"), "names no property"),
        (GOOD.replace("Property 1:", "1:"), "names no property"),
        (GOOD.replace("test_it", "helper"), "stands at no test"),
        (f"{TITLE}\n\n\nx = 1\n@given(x=1)\ndef test_it(x): ...", "stands at no test"),
        (f'text = """\n{TITLE}\n"""\n', ""),
    ],
)
def test_what_holds_no_property_is_reported(source: str, fault: str) -> None:
    assert fault in docstring_of(source)
    assert bool(fault) == bool(docstring_of(source))
    if not fault:
        assert [*claims_in(source, "t.py")] == []
