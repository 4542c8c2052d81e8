import ast
import operator
import time
from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.tools.builtin.calculator import ArithmeticFault, calculate, evaluate, spell
from tests.support.tools import runner_for, tool_call


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0.1 + 0.2", "0.3"),
        ("1/3*3", "1"),
        ("1/3", "0.33333333333333333 (rounded)"),
        ("-2^2", "-4"),
        ("(-2)**2", "4"),
        ("2^3^2", "512"),
        ("2^-2", "0.25"),
        ("2^-40", "0.0000000000009094947017729282379150390625"),
        ("5^-70", "0.0000000000000000000000000000000000000000000000001180591620717411303424"),
        ("2^0.5", "1.4142135623730951"),
        ("10-2-3", "5"),
        ("2+3*4", "14"),
        ("100/10/2", "5"),
        ("7//2 + 7%4", "6"),
        ("-7//2", "-4"),
        ("- -3", "3"),
        ("+-+3", "-3"),
        ("1_000 \u00d7 3 \u00f7 4 \u2212 1\u00b72", "748"),
        (".5 + 5.", "5.5"),
        ("1.5e3", "1500"),
        ("2E-3", "0.002"),
        ("0^0", "1"),
        ("0^5", "0"),
        ("1^999999999999", "1"),
        ("(-1)^999999999999", "-1"),
        ("sqrt(16/9)", "1.3333333333333333 (rounded)"),
        ("sqrt(2.25)", "1.5"),
        ("sqrt(2)", "1.4142135623730951"),
        ("abs(-3.5) + abs(2)", "5.5"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(pi, 4)", "3.1416"),
        ("round(1234, -2)", "1200"),
        ("floor(-1.5) + ceil(1.2)", "0"),
        ("min(3, 1, 2) + max(3, 1, 2)", "4"),
        ("exp(0) + ln(e) + log10(1000) + log2(8)", "8"),
        ("round(sin(π/2) + cos(0) + tan(0) + tau - tau, 9)", "2"),
        ("degrees(pi) - radians(180) + pi", "180"),
        ("asin(0) + acos(1) + atan(0)", "0"),
        ("factorial(20)", "2432902008176640000"),
        ("2^100", "1267650600228229401496703205376"),
    ],
)
def test_an_expression_has_its_value(expression: str, value: str) -> None:
    assert spell(evaluate(expression)) == value


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("", "The expression ends too early."),
        ("1 +", "The expression ends too early."),
        ("(1", "The expression ends too early."),
        ("2 3", "'3' at character 3 stands alone."),
        ("2pi", "'pi' at character 2 stands alone."),
        ("1,2", "',' at character 2 stands alone."),
        ("*2", "'*' at character 1 stands where a number should be."),
        ("(1,2)", "',' at character 3 stands where ')' should be."),
        ("  5 !", "'!' at character 5 is not part of arithmetic."),
        ("\u0663 + 1", "'\u0663' at character 1 is not part of arithmetic."),
        ("foo", "foo at character 1 is not a known value."),
        ("__import__('os')", '"\'" at character 12 is not part of arithmetic.'),
        ("1/0", "It divides by zero."),
        ("1//0", "It divides by zero."),
        ("1.5%(pi-pi)", "It divides by zero."),
        ("0^-1", "It divides by zero."),
        ("(-8)^(1/3)", "A negative number has no such power among the real numbers."),
        ("sqrt(-1)", "A negative number has no square root among the real numbers."),
        ("ln(0)", "It has no value among the real numbers."),
        ("asin(2)", "It has no value among the real numbers."),
        ("9^9^9", "The value is too large to work out."),
        ("2^(-99999)", "The value is too large to work out."),
        ("pi*1e308*1e308", "The value is too large to work out."),
        ("exp(1000)", "The value is too large to work out."),
        ("1e999999999", "1e999999999 is too large or too small."),
        ("1e-999999999", "1e-999999999 is too large or too small."),
        ("sin(1,2)", "A function of one value was given 2."),
        ("factorial(801)", "factorial takes a whole number from 0 to 800."),
        ("factorial(1.5)", "factorial takes a whole number from 0 to 800."),
        ("factorial(-1)", "factorial takes a whole number from 0 to 800."),
        ("round(1, 2, 3)", "round takes a value and up to 100 decimals."),
        ("round(1, 0.5)", "round takes a value and up to 100 decimals."),
        ("round(1, 101)", "round takes a value and up to 100 decimals."),
        ("(" * 51 + "1" + ")" * 51, "More than 50 brackets or powers stand in each other."),
        ("2^" * 51 + "1", "More than 50 brackets or powers stand in each other."),
        ("1+" * 500 + "1", "The expression is longer than 1000 characters."),
    ],
)
def test_what_has_no_value_is_a_sentence(expression: str, fault: str) -> None:
    with pytest.raises(ArithmeticFault) as caught:
        evaluate(expression)
    assert str(caught.value) == fault


def test_an_unknown_function_is_reported_with_those_there_are() -> None:
    with pytest.raises(ArithmeticFault, match="There is no function foo; there are sqrt, abs"):
        evaluate("foo(1)")


def test_fifty_brackets_and_a_thousand_characters_are_fine() -> None:
    assert evaluate("(" * 50 + "1" + ")" * 50) == 1
    assert evaluate("1+" * 499 + "10") == 509
    assert evaluate("+".join(["(1)"] * 100)) == 100


SIGNS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def by_python(node: ast.expr) -> Fraction:
    """Work out an expression from Python's own parse of it."""
    match node:
        case ast.BinOp(left=left, op=sign, right=right):
            return SIGNS[type(sign)](by_python(left), by_python(right))
        case ast.UnaryOp(operand=operand):
            return -by_python(operand)
        case ast.Constant(value=value):
            return Fraction(str(value))
        case _:
            raise AssertionError(ast.dump(node))


EXPRESSIONS = st.recursive(
    st.integers(0, 10**6).map(str) | st.decimals(0, 1000, places=3).map(str),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(" ".join)
        | inner.map("({})".format)
        | inner.map("-{}".format)
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
@settings(max_examples=300)
def test_python_reads_an_expression_the_same_way(expression: str) -> None:
    try:
        expected = by_python(ast.parse(expression, mode="eval").body)
    except ZeroDivisionError:
        with pytest.raises(ArithmeticFault, match="divides by zero"):
            evaluate(expression)
    else:
        assert evaluate(expression) == expected


@given(st.text("0123456789.eE+-*/^%(), sqrtfacoilpn!_", max_size=60))
@settings(max_examples=500)
def test_any_text_has_a_value_or_a_sentence_soon(text: str) -> None:
    begun = time.process_time()
    try:
        outcome = spell(evaluate(text))
    except ArithmeticFault as fault:
        outcome = str(fault)
    assert 0 < len(outcome) < 5000
    assert time.process_time() - begun < 1


async def test_the_tool_gives_the_value_or_says_why_there_is_none() -> None:
    runner = runner_for(calculate)
    done = await runner.run(tool_call("calculate", {"expression": "6*7"}, id="1"))
    failed = await runner.run(tool_call("calculate", {"expression": "1/0"}, id="2"))
    assert (done.content, done.is_error) == ("42", False)
    assert (failed.content, failed.is_error) == ("It divides by zero.", True)
