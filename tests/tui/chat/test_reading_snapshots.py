"""How formulas, wide tables and one message alone look."""

from pathlib import Path

import pytest

from tests.tui.screens import Stage, staged
from tests.tui.scripted import finish, text
from tests.tui.svg import SIZES, SvgSnapshot

ANSWER = r"""The roots of $ax^2 + bx + c = 0$ are

$$
x_{1,2} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}
$$

so for $5 \times 3$ apples at \$2 each you pay $30. With \(\alpha = \frac{1}{2}\):

\[
\begin{aligned}
f(x) &= \sum_{i=1}^{n} x_i^2 \\
     &\leq \int_0^\infty e^{-t}\,dt
\end{aligned}
\]

| planet | mass | radius | gravity | day | year | moons | found by | remark |
|---|---|---|---|---|---|---|---|---|
| Mercury | 0.055 Earths | 2440 km | 3.7 m/s² | 176 d | 88 d | 0 | the ancients | hot |
"""
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


async def answered(stage: Stage) -> None:
    await stage.ask("Solve it.")
    stage.client.give(text(ANSWER), finish())
    await stage.settle()
    await stage.settle()


@sizes
async def test_formulas_look_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await answered(stage)
        svg_snapshot(stage.app)


@sizes
async def test_one_message_alone_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await answered(stage)
        await stage.pilot.press("alt+o")
        await stage.pilot.pause()
        await stage.pilot.press("w", "end", "right")
        for _ in range(3):
            await stage.pilot.pause()
        svg_snapshot(stage.app)
