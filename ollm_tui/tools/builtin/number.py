"""Numbers of bounded size, and the signs of arithmetic on them."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = Fraction | float

MOST_BITS = 8000
"""About 2400 digits, above and below the line of a fraction."""


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
    """Raise to a power; the size is known before anything is multiplied."""
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
    """Give what the work gives, if it is finite and not too long to write."""
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
    """Give a whole number as a fraction."""
    return Fraction(int(value))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _too_large() -> ArithmeticFault:
    return ArithmeticFault("The value is too large to work out.")
