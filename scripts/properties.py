"""List the numbered correctness properties with the tests that hold them.

python -m scripts.properties [folder of tests]

A test names its property in a comment above it, among its decorators or inside it:

    # Feature: stage-02-core-provider, Property 4: Event Stream Forwarding

Exit code 1 when a property has no test, when a comment names no property or names it otherwise
than the table below, or when the test is no Hypothesis test of at least 100 examples.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MIN_EXAMPLES = 100
CORE, PROVIDERS = "stage-02-core-provider", "stage-11-vllm-openai"
TITLES: Mapping[str, Sequence[str]] = {
    CORE: (
        "Provider Registration and Retrieval",
        "Default Provider Resolution",
        "Provider List Completeness",
        "Event Stream Forwarding",
        "Abort Signal Cancellation",
        "Tool Call Queuing and Execution",
        "Tool Result Continuation",
        "Parallel Tool Execution",
        "Maximum Turn Limit",
        "Provider Interface Compliance",
        "Optional Method Presence",
        "Message Format Mapping",
        "Tool Schema Conversion",
        "Local Provider Request Formatting",
        "Local Provider Event Streaming",
        "Connection Error Handling",
        "ReAct Instruction Formatting",
        "ReAct Output Parsing",
        "ReAct JSON Validation",
        "ReAct Observation Formatting",
        "ReAct Turn Completion",
        "Token Count Estimation",
        "Provider Tokenizer Usage",
        "Fallback Token Estimation",
        "Token Limit Warning",
        "Token Limit Enforcement",
        "Turn Initialization",
        "Event Collection Completeness",
        "Conversation History Update",
        "Message Structure Validity",
        "Tool Message Name Field",
        "Tool Execution Error Handling",
        "ReAct JSON Error Recovery",
        "Abort Signal Cleanup",
        "Unexpected Error Resilience",
    ),
    PROVIDERS: (
        "Provider Interface Compliance",
        "SSE Stream Parsing Correctness",
        "SSE Stream Termination",
        "SSE Malformed JSON Resilience",
        "SSE Partial Chunk Buffering",
        "OpenAI-Compatible Endpoint Usage",
        "Provider-Specific Options Passthrough",
        "Authenticated Request Headers",
        "Model Listing Error Handling",
        "Backend-Specific Header Adaptation",
        "Provider Registry Alias Resolution",
        "Provider Registry Not Found Behavior",
        "Provider Registry Backward Compatibility",
        "Configuration Schema Validation",
        "Environment Variable Substitution",
        "Configuration Precedence",
        "CLI Flag Precedence",
        "Network Error Messages",
        "Authentication Error Messages",
        "Unsupported Operation Messages",
        "Mid-Stream Error Handling",
        "Feature Capability Detection",
        "Graceful Feature Degradation",
        "Backward Compatibility Preservation",
    ),
}
MARK = re.compile(r"#\s*Feature:")
COMMENT = re.compile(r"# Feature: ([a-z0-9-]+), Property (\d+): (.+)")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """A comment, and the test that it belongs to."""

    path: str
    line: int
    text: str
    test: str | None
    fault: str | None
    """Why that test holds no property; None when it may."""

    @property
    def key(self) -> Key | None:
        """The property that it names."""
        match = COMMENT.fullmatch(self.text)
        return (match[1], int(match[2])) if match else None

    @property
    def place(self) -> str:
        """Where a person finds it."""
        return f"{self.path}:{self.line}"


def properties() -> Iterator[tuple[Key, str]]:
    """Return all properties with their titles."""
    for feature, titles in TITLES.items():
        for number, title in enumerate(titles, start=1):
            yield (feature, number), title


def claims_in(source: str, path: str) -> Iterator[Claim]:
    """Return the comments of one file."""
    comments = _comments(source)
    tests = [n for n in ast.walk(ast.parse(source)) if isinstance(n, Function)]
    for line, text in comments.items():
        if MARK.match(text):
            test = _test_of(line, tests, comments, source.splitlines())
            name = test.name if test else None
            yield Claim(path, line, text, name, _fault(test))


def faults(claims: Sequence[Claim]) -> list[str]:
    """Return the problems; empty if every property has a test."""
    wanted, claimed = dict(properties()), {claim.key for claim in claims}
    problems = [f"{claim.place}: {claim.fault}" for claim in claims if claim.fault]
    for claim in claims:
        if claim.key is None or claim.key not in wanted:
            problems.append(f"{claim.place}: names no property: {claim.text}")
        elif not claim.text.endswith(f": {wanted[claim.key]}"):
            problems.append(f"{claim.place}: the title is {wanted[claim.key]!r}: {claim.text}")
    missing = [(key, title) for key, title in wanted.items() if key not in claimed]
    return problems + [f"{key[0]}, Property {key[1]}: {title}: no test" for key, title in missing]


def table(claims: Sequence[Claim]) -> Iterator[str]:
    """Return a line for each property and one for each of its tests."""
    for key, title in properties():
        yield f"{key[0]:22} {key[1]:2}  {title}"
        for claim in claims:
            if claim.key == key:
                yield f"{'':28}{claim.path}::{claim.test}"


def read(folder: Path) -> list[Claim]:
    """Return the comments of all tests below a folder."""
    claims: list[Claim] = []
    for path in sorted(folder.rglob("test_*.py")):
        claims += claims_in(path.read_text("utf-8"), path.relative_to(folder.parent).as_posix())
    return claims


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}


def _test_of(
    line: int, tests: Sequence[Function], comments: Mapping[int, str], lines: Sequence[str]
) -> Function | None:
    """Return the innermost test around a comment, else the one that follows without a gap."""
    around = [t for t in tests if _start(t) <= line <= (t.end_lineno or 0)]
    around = [t for t in around if t.name.startswith("test")]
    if around:
        return max(around, key=_start)
    after = line + 1
    while after in comments and lines[after - 1].lstrip().startswith("#"):
        after += 1
    return next((t for t in tests if _start(t) == after and t.name.startswith("test")), None)


def _start(test: Function) -> int:
    return min([test.lineno, *(decorator.lineno for decorator in test.decorator_list)])


def _fault(test: Function | None) -> str | None:
    if test is None:
        return "stands at no test"
    calls = [d for d in test.decorator_list if isinstance(d, ast.Call)]
    if not any(_name(call) == "given" for call in calls):
        return f"{test.name} is no Hypothesis test"
    for keyword in (k for call in calls if _name(call) == "settings" for k in call.keywords):
        if keyword.arg != "max_examples":
            continue
        value = keyword.value
        if not (isinstance(value, ast.Constant) and isinstance(value.value, int)):
            return f"{test.name}: max_examples must be a plain number"
        if value.value < MIN_EXAMPLES:
            return f"{test.name} has {value.value} examples, not {MIN_EXAMPLES}"
        return None
    return f"{test.name} names no number of examples"


def _name(call: ast.Call) -> str:
    made = call.func
    return made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")


def main(arguments: Sequence[str]) -> int:
    """Print the table and what is wrong with it."""
    claims = read(Path(arguments[0]).resolve() if arguments else ROOT / "tests")
    print("\n".join(table(claims)))
    wrong = faults(claims)
    held = {claim.key for claim in claims if claim.fault is None} & {k for k, _ in properties()}
    print(f"{len(held)} of {sum(map(len, TITLES.values()))} properties are held by a test.")
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
