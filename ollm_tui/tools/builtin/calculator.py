"""The calculator as a tool."""

from ollm_tui.tools.builtin.arithmetic import evaluate, spell
from ollm_tui.tools.builtin.number import ArithmeticFault
from ollm_tui.tools.define import tool
from ollm_tui.tools.failure import ToolFailure


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
