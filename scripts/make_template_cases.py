"""Write what `transformers` makes of the sample templates, for the tests to compare with.

    PYTHONPATH=. python scripts/make_template_cases.py

Run it with a Python that has `transformers`, and the packages of this project.
"""

import json
from pathlib import Path

import jinja2
import transformers
from transformers.utils.chat_template_utils import render_jinja_template

from ollm_tui.templates.conversation import context_of
from tests.templates.conversations import CONVERSATIONS
from tests.templates.samples import SAMPLES

FILE = Path(__file__).parent.parent / "tests" / "data" / "template_cases.json"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def rendered(template: str, name: str) -> str | None:
    """Return the text of a conversation; None if the template refuses it."""
    context = context_of(CONVERSATIONS[name], TOKENS)
    messages = context.pop("messages")
    try:
        texts, _ = render_jinja_template([messages], chat_template=template, **context)
    except (jinja2.TemplateError, TypeError):
        return None
    return str(texts[0])


def main() -> None:
    cases = {
        sample: {name: rendered(template, name) for name in CONVERSATIONS}
        for sample, template in SAMPLES.items()
    }
    data = {"transformers": transformers.__version__, "cases": cases}
    FILE.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
