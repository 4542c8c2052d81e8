"""The style sheet of an exported page, light and dark as the reader's system is set."""

from functools import cache
from typing import Final

_PAGE: Final = """
:root { color-scheme: light dark; --text: #1f2328; --back: #ffffff; --soft: #f3f4f6;
  --line: #d0d7de; --faint: #57606a; --link: #0550ae; --user: #e7f0fd; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --soft: #161b22;
  --line: #30363d; --faint: #9aa4af; --link: #79c0ff; --user: #12233d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 50rem; color: var(--text);
  background: var(--back); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; }
a { color: var(--link); }
header { border-bottom: 1px solid var(--line); margin-bottom: 1.5rem; padding-bottom: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
article { border: 1px solid var(--line); border-radius: 8px; margin: 1rem 0; padding: .25rem 1rem; }
article.user { background: var(--user); }
article > h2 { font-size: .9rem; margin: .5rem 0; }
small, .note { color: var(--faint); font-weight: normal; }
h2.branch { border-top: 2px solid var(--line); font-size: 1.1rem; margin-top: 2.5rem;
  padding-top: 1rem; }
details { border-left: 3px solid var(--line); margin: .75rem 0; padding-left: .75rem;
  color: var(--faint); }
summary { cursor: pointer; }
pre { background: var(--soft); border-radius: 6px; overflow-x: auto; padding: .75rem;
  white-space: pre-wrap; }
pre.code { white-space: pre; }
code { font: .875em/1.45 ui-monospace, monospace; }
:not(pre) > code { background: var(--soft); border-radius: 4px; padding: .1em .3em; }
blockquote { border-left: 3px solid var(--line); margin-left: 0; padding-left: 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid var(--line); padding: .25rem .6rem; }
td, th { text-align: left; }
.right { text-align: right; }
.center { text-align: center; }
img, video { max-width: 100%; height: auto; }
@media print { article { break-inside: avoid-page; } body { max-width: none; } }
"""
_LIGHT: Final = "default"
_DARK: Final = "github-dark"


@cache
def stylesheet() -> str:
    """Return the whole sheet, with the colours of code for both backgrounds."""
    # Imported with the first page: the formatter costs 20 ms that other exports need not pay.
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]  # no types

    def colours(style: str) -> str:
        rules: list[str] = HtmlFormatter(style=style).get_token_style_defs(".code")
        return "\n".join(rules)

    dark = f"@media (prefers-color-scheme: dark) {{\n{colours(_DARK)}\n}}\n"
    return f"{_PAGE}{colours(_LIGHT)}\n{dark}"
