"""Nothing that the first answer uses is imported in the thread of the event loop."""

import subprocess
import sys

from tests.support.isolation import guarded_path

RECORDER = """
import sys, threading, time

class Recorder:
    found = []

    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            self.found.append(name)

def record():
    sys.meta_path.insert(0, Recorder())
"""
PAINTING = """
from ollm_tui.tui.painters.markdown import MarkdownPainter, load_markdown
from ollm_tui.tui.painters.rows import Canvas, Palette
behind = threading.Thread(target=load_markdown)
behind.start()
behind.join()
record()
texts = ["# A *title*\\n\\n- so $x^2$ and `code` 漢字 🚀\\n\\n|a|b|\\n|-|-|\\n|1|2|\\n\\n"]
texts += [f"```{name}\\nlet x = 1;\\n```\\n\\n" for name in ("rust", "scala", "json", "nosuch")]
texts += ["1. so\\n   ```kotlin\\n   val x = 1\\n   ```\\n\\n> ```css\\n> a { b: c }\\n> ```\\n"]
painter = MarkdownPainter(Canvas(60, Palette()))
for text in texts:
    for at in range(0, len(text), 5):
        painter.append(text[at : at + 5])
        painter.work(time.monotonic() + 0.01)
painter.finish()
while painter.work(time.monotonic() + 0.01):
    pass
print(*Recorder.found)
"""
COUNTING = """
import anyio
from ollm_tui.runtime.downloads import load_registry
from ollm_tui.tokens.encodings import Encodings

async def main():
    await anyio.to_thread.run_sync(int)
    encodings = Encodings()
    record()
    await load_registry()
    encoding = await encodings.encoding_for("gpt-4o")
    await anyio.to_thread.run_sync(encoding.count, "A short question.")

anyio.run(main)
print(*Recorder.found)
"""


def imported_by_the_loop(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", RECORDER + code],
        env={"PYTHONPATH": guarded_path()},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_an_answer_is_painted_with_what_threads_have_loaded() -> None:
    assert imported_by_the_loop(PAINTING) == []


def test_the_use_of_a_model_is_counted_with_what_threads_have_loaded() -> None:
    assert imported_by_the_loop(COUNTING) == []
