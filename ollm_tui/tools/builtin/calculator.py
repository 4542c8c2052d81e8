"""The calculator: expressions parsed by hand, exact where possible, bounded everywhere.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/" | "//" | "%") signed)*
    signed   = ("+" | "-")* power
    power    = atom (("^" | "**") signed)?
    atom     = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"

Numbers are fractions, so that 0.1 + 0.2 is 0.3; what is irrational becomes a float.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.tools.define import ToolFailure, tool

Number: TypeAlias = Fraction | float

MAX_BITS = 8000
"""About 2400 digits, in the numerator and in the denominator."""
Function: TypeAlias = Callable[[Sequence[Number]], Number]
_MAX_FACTORIAL = 800
_MAX_DECIMALS = 100
CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}
MAX_LENGTH = 1000
MAX_DEPTH = 50
_MAX_EXPONENT = 400
_SIGN_NAMES: Mapping[str, str] = {
    "\u00d7": "*",
    "\u00b7": "*",
    "\u00f7": "/",
    "\u2212": "-",
    "**": "^",
}
_TOKEN = lazy_re(
    r"\s*(?:(?P<number>(?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_π][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|//|[-+*/%^(),\u00d7\u00f7\u2212\u00b7])|(?P<end>$))"
)


class ArithmeticFault(Exception):
    """Why an expression has no value, as a sentence."""


def apply(sign: str, left: Number, right: Number) -> Number:
    """Apply one of + - * / // % to two numbers."""
    if sign in {"/", "//", "%"} and right == 0:
        raise ArithmeticFault("It divides by zero.")
    return checked(lambda: _OPERATORS[sign](left, right))


_OPERATORS: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": lambda left, right: Fraction(left // right),
    "%": operator.mod,
}


def raise_to(base: Number, exponent: Number) -> Number:
    """Raise to a power; the size is checked before anything is multiplied."""
    if base == 0 and exponent < 0:
        raise ArithmeticFault("It divides by zero.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if base not in (0, 1, -1) and _bits(base) * abs(exponent) > MAX_BITS:
            raise _too_large()
        power = exponent.numerator if base not in (1, -1) else exponent.numerator % 2
        return checked(lambda: base**power)
    if base < 0:
        raise ArithmeticFault("A negative number has no such power among the real numbers.")
    return checked(lambda: float(base) ** float(exponent))


def checked(work: Callable[[], Number]) -> Number:
    """Return the result of `work` if it is finite and not too long to write."""
    try:
        value = work()
    except OverflowError:
        raise _too_large() from None
    except ValueError:
        raise ArithmeticFault("It has no value among the real numbers.") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise _too_large()
    if isinstance(value, Fraction) and _bits(value) > MAX_BITS:
        raise _too_large()
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _too_large() -> ArithmeticFault:
    return ArithmeticFault("The value is too large to work out.")


def _on_floats(function: Callable[[float], float]) -> Function:
    return _of_one(lambda value: checked(lambda: function(float(value))))


def _of_one(function: Callable[[Number], Number]) -> Function:
    def call(arguments: Sequence[Number]) -> Number:
        if len(arguments) != 1:
            raise ArithmeticFault(f"A function of one value was given {len(arguments)}.")
        return function(arguments[0])

    return call


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise ArithmeticFault("A negative number has no square root among the real numbers.")
    if isinstance(value, Fraction):
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return checked(lambda: math.sqrt(value))


def _round(arguments: Sequence[Number]) -> Number:
    value, *rest = arguments
    decimals = rest[0] if rest else Fraction(0)
    if (
        len(rest) > 1
        or decimals != int(decimals)
        or not -_MAX_DECIMALS <= decimals <= _MAX_DECIMALS
    ):
        raise ArithmeticFault(f"round takes a value and up to {_MAX_DECIMALS} decimals.")
    scale = Fraction(10) ** int(decimals)
    # Halves are rounded away from zero, as on paper; Python rounds them to even.
    size = Fraction(math.floor(abs(Fraction(value)) * scale + Fraction(1, 2))) / scale
    return checked(lambda: -size if value < 0 else size)


def _factorial(value: Number) -> Number:
    if value < 0 or value != int(value) or value > _MAX_FACTORIAL:
        raise ArithmeticFault(f"factorial takes a whole number from 0 to {_MAX_FACTORIAL}.")
    return Fraction(math.factorial(int(value)))


FUNCTIONS: Mapping[str, Function] = {
    "sqrt": _of_one(_sqrt),
    "abs": _of_one(lambda value: -value if value < 0 else value),
    "round": _round,
    "floor": _of_one(lambda value: Fraction(math.floor(value))),
    "ceil": _of_one(lambda value: Fraction(math.ceil(value))),
    "min": min,
    "max": max,
    "exp": _on_floats(math.exp),
    "ln": _on_floats(math.log),
    "log10": _on_floats(math.log10),
    "log2": _on_floats(math.log2),
    "sin": _on_floats(math.sin),
    "cos": _on_floats(math.cos),
    "tan": _on_floats(math.tan),
    "asin": _on_floats(math.asin),
    "acos": _on_floats(math.acos),
    "atan": _on_floats(math.atan),
    "degrees": _on_floats(math.degrees),
    "radians": _on_floats(math.radians),
    "factorial": _of_one(_factorial),
}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: int


def evaluate(expression: str) -> Number:
    """Return the value of an expression.

    Raises:
        ArithmeticFault: it is not an expression, or its value is too large or undefined.
    """
    if len(expression) > MAX_LENGTH:
        raise ArithmeticFault(f"The expression is longer than {MAX_LENGTH} characters.")
    parser = _Parser(_tokens(expression))
    value = parser.sum()
    parser.expect("end", "")
    return value


def spell(value: Number) -> str:
    """Return a value as text: exactly if its digits end soon, else to about 15 digits."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    precision = Context(prec=30 if rest == 1 else 17)
    quotient = precision.divide(Decimal(value.numerator), Decimal(value.denominator))
    exact = Fraction(quotient) == value
    return f"{quotient:f}" if exact else f"{quotient} (rounded)"


def _tokens(expression: str) -> Sequence[_Token]:
    tokens: list[_Token] = []
    place = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(expression, place)
        if match is None or match.lastgroup is None:
            rest = expression[place:].lstrip()
            at = len(expression) - len(rest) + 1
            raise ArithmeticFault(f"{rest[:1]!r} at character {at} is not part of arithmetic.")
        text = match[match.lastgroup]
        sign = _SIGN_NAMES.get(text, text)
        tokens.append(_Token(match.lastgroup, sign, match.start(match.lastgroup) + 1))
        place = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def sum(self) -> Number:
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            value = apply(sign, value, self._product())
        return value

    def expect(self, kind: str, text: str) -> None:
        token = self._tokens[self._at]
        if (token.kind, token.text) != (kind, text):
            raise self._unexpected(f" where {text!r} should be" if text else "")
        self._at += 1

    def _product(self) -> Number:
        value = self._signed()
        while (sign := self._take("*", "/", "//", "%")) is not None:
            value = apply(sign, value, self._signed())
        return value

    def _signed(self) -> Number:
        negative = False
        while (sign := self._take("+", "-")) is not None:
            negative ^= sign == "-"
        value = self._power()
        return -value if negative else value

    def _power(self) -> Number:
        base = self._atom()
        return base if self._take("^") is None else raise_to(base, self._deeper(self._signed))

    def _atom(self) -> Number:
        token = self._tokens[self._at]
        if token.kind == "number":
            self._at += 1
            return _number(token.text)
        if token.kind == "name":
            self._at += 1
            return self._named(token)
        if self._take("(") is None:
            raise self._unexpected(" where a number should be")
        value = self._deeper(self.sum)
        self.expect("sign", ")")
        return value

    def _named(self, token: _Token) -> Number:
        if self._take("(") is None:
            if token.text in CONSTANTS:
                return CONSTANTS[token.text]
            raise ArithmeticFault(f"{token.text} at character {token.place} is not a known value.")
        arguments = [self._deeper(self.sum)]
        while self._take(",") is not None:
            arguments.append(self._deeper(self.sum))
        self.expect("sign", ")")
        function = FUNCTIONS.get(token.text)
        if function is None:
            known = ", ".join(FUNCTIONS)
            raise ArithmeticFault(f"There is no function {token.text}; there are {known}.")
        return function(arguments)

    def _take(self, *signs: str) -> str | None:
        token = self._tokens[self._at]
        if token.kind != "sign" or token.text not in signs:
            return None
        self._at += 1
        return token.text

    def _deeper(self, rule: Callable[[], Number]) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ArithmeticFault(f"More than {MAX_DEPTH} brackets or powers stand in each other.")
        value = rule()
        self._depth -= 1
        return value

    def _unexpected(self, where: str) -> ArithmeticFault:
        token = self._tokens[self._at]
        if token.kind == "end":
            return ArithmeticFault("The expression ends too early.")
        return ArithmeticFault(
            f"{token.text!r} at character {token.place} stands{where or ' alone'}."
        )


def _number(text: str) -> Number:
    digits, _, exponent = text.lower().partition("e")
    if abs(int(exponent or "0")) > _MAX_EXPONENT:
        raise ArithmeticFault(f"{text} is too large or too small.")
    return Fraction(digits.replace("_", "").rstrip(".")) * Fraction(10) ** int(exponent or "0")


@tool(effect="read", timeout_s=5)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression exactly.

    Knows + - * / // % ^ (or **), brackets, pi, e, and the functions sqrt, abs, round, floor, ceil,
    min, max, exp, ln, log10, log2, sin, cos, tan, asin, acos, atan, degrees, radians, factorial.
    Angles are in radians.

    Args:
        expression: Such as "(3.5 + 2) * 1e3 / 7" or "sqrt(2) * round(pi, 4)".
    """
    try:
        return spell(evaluate(expression))
    except ArithmeticFault as fault:
        raise ToolFailure(str(fault)) from None
