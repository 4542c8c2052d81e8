import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.tui.painters import formulas as module
from ollm_tui.tui.painters.formulas import formulas, in_line
from ollm_tui.tui.painters.latex import MAX_LENGTH, convert
from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.rows import Canvas, Palette
from tests.tui.painters.painting import paint, settle, texts

CONVERTED = {
    r"E = mc^2": "E = mc²",
    r"a_1, \dots, a_n": "a₁, …, aₙ",
    r"y_{ij}^{n+1}": "y_(ij)ⁿ⁺¹",
    r"\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}": "(-b ± √(b² - 4ac))/(2a)",
    r"\frac12 \cdot \frac{d}{dx}": "1/2 · d/dx",
    r"\sqrt[3]{x} + \sqrt[n]{y}": "∛x + ⁿ√y",
    r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}": "∑ᵢ₌₁ⁿ i = n(n+1)/2",
    r"\int_0^\infty e^{-x^2}\,dx": "∫₀^∞ e^(-x²) dx",
    r"\lim_{x \to 0} \frac{\sin x}{x} = 1": "lim_(x → 0) (sin x)/x = 1",
    r"\forall x \in \mathbb{R}: x^2 \geq 0": "∀ x ∈ \u211d: x² ≥ 0",
    r"A \implies B \iff C": "A ⟹ B ⟺ C",
    r"\left( \frac{1}{2} \right)": "(1/2)",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}^{-1}": "(1 2; 3 4)⁻¹",
    r"\begin{cases} 1 & x > 0 \\ 0 & \text{otherwise} \end{cases}": "{ 1, x > 0; 0, otherwise }",
    r"\hat{x} + \vec{AB}": "x̂ + A⃗B⃗",
    r"x_{\text{max}} \not= 50\%": "xₘₐₓ ≠ 50%",
    r"\binom{n}{k}": "C(n, k)",
    r"\unknown{x} + 1": r"\unknown{x} + 1",
    r"\input{/etc/passwd}": r"\input{/etc/passwd}",
    r"\begin{tikz} x \end{tikz}": r"\begin{tikz} x \end{tikz}",
}


@pytest.mark.parametrize("source", CONVERTED)
def test_a_formula_reads_as_unicode(source: str) -> None:
    assert in_line(source) == CONVERTED[source]


def test_lines_of_a_formula_are_lines() -> None:
    assert convert(r"\begin{aligned} a &= b \\ &= c \end{aligned}") == ("a = b", "= c")


@pytest.mark.parametrize("source", ["{", r"\frac{1", "x^", "a^^b", "{" * 40 + "}" * 40, "x" * 801])
def test_what_cannot_be_converted_is_left_alone(source: str) -> None:
    assert convert(source) is None
    assert len("x" * 801) > MAX_LENGTH


@settings(max_examples=300)
@given(st.text(alphabet="\\{}[]()^_$&%#~ ab1\n'|", max_size=120) | st.text(max_size=60))
def test_any_text_is_converted_or_left_alone_with_its_words(source: str) -> None:
    lines = convert(source)
    assert lines is None or all(lines)


FOUND = {
    "$x$": ["x"],
    "so $E = mc^2$.": ["E = mc^2"],
    r"\(a\) and \[b\]": ["a", "b"],
    "$$a$$ then $b$": ["a", "b"],
    "$a$, $b$ and $c$": ["a", "b", "c"],
    "($n$-th)": ["n"],
    r"$5 \times 3$ costs \$5 or \$6": [r"5 \times 3"],
    r"$a \text{ if } b$": [r"a \text{ if } b"],
    # Prices, and words between them.
    "$5 and $6": [],
    "$5-$6 a month": [],
    "$20,000 (or 20,000$) and 5$ more": [],
    "between $5 and 6$": [],
    "US$5, A$6": [],
    # Variables of a shell.
    "$HOME and $PATH": [],
    "$HOME/$USER:$PATH": [],
    "${a} and ${b}": [],
    "echo $HOME$": [],
    "PID $$ and $$": [],
    # Code between the delimiters, and nothing at all.
    "$a `b$ c`": [],
    "$ $ $$ $$": [],
    r"an escaped \(remark of words\)": [],
    r"\$x$ y": [],
    r"\\(x\\)": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_formulas_are_told_from_prices_and_shells(text: str) -> None:
    assert [formula.source for formula in formulas(text).values()] == FOUND[text]


@given(st.text(alphabet="$\\()[] a1x^`\n", max_size=60))
def test_formulas_do_not_overlap_and_have_their_delimiters(text: str) -> None:
    end = 0
    for start, formula in formulas(text).items():
        assert start >= end
        end = formula.end
        assert text[start:end].strip("$\\()[]").strip() in formula.source.strip()
        assert formula.source in text[start:end]


@pytest.mark.parametrize("count", [2_000, 200_000])
def test_the_cost_of_dollars_is_linear(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    check = module._is_formula

    def counted(text: str, mark: str, start: int, source: str, after: int) -> bool:
        nonlocal looked_at
        looked_at += len(source) + 1
        return check(text, mark, start, source, after)

    monkeypatch.setattr(module, "_is_formula", counted)
    assert formulas("$" * count) == {}
    formulas("a $b " * (count // 5))
    assert looked_at <= 2 * count


def test_code_and_diagrams_are_never_touched() -> None:
    text = (
        "`$x^2$` ``\\(y\\)``\n\n```mermaid\ngraph $x^2$\n```\n\n    $z_1$\n\n```\n$$\na^2\n$$\n```"
    )
    painted = texts(paint(text))
    assert painted == [
        *("$x^2$ \\(y\\)", "", " mermaid", " graph $x^2$", ""),
        *("", " $z_1$", "", "", " $$", " a^2", " $$"),
    ]


def test_a_formula_of_its_own_keeps_marks_of_markdown_out() -> None:
    text = "So:\n$$\nx_1 * y\n= 2\n+ z_1 * w\n$$\nThen \\[ a_1 \\]\n\n"
    text += "- item\n  \\[\n  b\n  = 1\n  \\].\n"
    assert texts(paint(text)) == [
        *("So:", "", "  x₁ * y = 2 + z₁ * w", ""),
        *("Then a₁", "", "• item", "    b = 1."),
    ]


def test_an_open_formula_is_shown_as_it_is_written() -> None:
    painter = MarkdownPainter(Canvas(40, Palette()))
    painter.append("$$\nx_1 * y_2 * z")
    settle(painter)
    assert texts(painter) == ["$$", "x_1 * y_2 * z"]
    painter.append("\n$$")
    settle(painter)
    assert texts(painter) == ["  x₁ * y₂ * z"]
    painter.append("\n\nNothing $x_1")
    painter.finish()
    settle(painter)
    assert texts(painter) == ["  x₁ * y₂ * z", "", "Nothing $x_1"]


def test_formulas_can_be_left_as_they_are_written() -> None:
    painter = MarkdownPainter(Canvas(40, Palette(), maths=False))
    painter.append("So $x^2$ and $$y$$\n\n$$\nz^2\n$$\n\n- $a$\n  $$b$$")
    painter.finish()
    settle(painter)
    assert texts(painter) == ["So $x^2$ and $$y$$", "", "$$ z^2 $$", "", "• $a$ $$b$$"]
