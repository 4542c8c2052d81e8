"""The functions and constants of the calculator."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

from ollm_tui.tools.builtin.number import ArithmeticFault, Number, checked, exact

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
    # Halves go away from zero, as on paper; Python's own rounding goes to the even neighbour.
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
