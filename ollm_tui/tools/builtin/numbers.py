"""Numbers of bounded size: the operators, functions and constants of the calculator."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

Number: TypeAlias = Fraction | float

MOST_BITS = 8000
"""About 2400 digits, in the numerator and in the denominator."""


class ArithmeticFault(Exception):
    """Why an expression has no value, as a sentence."""


def apply(sign: str, left: Number, right: Number) -> Number:
    """Apply one of + - * / // % to two numbers."""
    if sign in {"/", "//", "%"} and right == 0:
        raise ArithmeticFault("It divides by zero.")
    match sign:
        case "+":
            return checked(lambda: left + right)
        case "-":
            return checked(lambda: left - right)
        case "*":
            return checked(lambda: left * right)
        case "/":
            return checked(lambda: left / right)
        case "//":
            return checked(lambda: exact(left // right))
        case _:
            return checked(lambda: left % right)


def raise_to(base: Number, exponent: Number) -> Number:
    """Raise to a power; the size is checked before anything is multiplied."""
    if base == 0 and exponent < 0:
        raise ArithmeticFault("It divides by zero.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if base not in (0, 1, -1) and _bits(base) * abs(exponent) > MOST_BITS:
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
    if isinstance(value, Fraction) and _bits(value) > MOST_BITS:
        raise _too_large()
    return value


def exact(value: float) -> Fraction:
    """Return a whole number as a fraction."""
    return Fraction(int(value))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _too_large() -> ArithmeticFault:
    return ArithmeticFault("The value is too large to work out.")


Function: TypeAlias = Callable[[Sequence[Number]], Number]

_LARGEST_FACTORIAL = 800
_MOST_DECIMALS = 100


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
        or not -_MOST_DECIMALS <= decimals <= _MOST_DECIMALS
    ):
        raise ArithmeticFault(f"round takes a value and up to {_MOST_DECIMALS} decimals.")
    scale = Fraction(10) ** int(decimals)
    # Halves are rounded away from zero, as on paper; Python rounds them to even.
    size = Fraction(math.floor(abs(Fraction(value)) * scale + Fraction(1, 2))) / scale
    return checked(lambda: -size if value < 0 else size)


def _factorial(value: Number) -> Number:
    if value < 0 or value != int(value) or value > _LARGEST_FACTORIAL:
        raise ArithmeticFault(f"factorial takes a whole number from 0 to {_LARGEST_FACTORIAL}.")
    return Fraction(math.factorial(int(value)))


CONSTANTS: Mapping[str, Number] = MappingProxyType(
    {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}
)
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "sqrt": _of_one(_sqrt),
        "abs": _of_one(lambda value: -value if value < 0 else value),
        "round": _round,
        "floor": _of_one(lambda value: exact(math.floor(value))),
        "ceil": _of_one(lambda value: exact(math.ceil(value))),
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
)
