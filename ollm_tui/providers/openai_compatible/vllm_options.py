"""vLLM's options beside OpenAI's: their types, and their names by version; pure.

A module of its own, so that pydantic builds the types only for requests that use them.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from ollm_tui.decode.json_fields import as_object, present
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject

Text = Annotated[str | None, Field(description="text")]
Texts = Annotated[list[str] | None, Field(description="a list of texts")]
Tokens = Annotated[list[int] | None, Field(description="a list of token numbers")]
Table = Annotated[dict[str, JsonValue] | None, Field(description="an object of keys and values")]
Schema = Annotated[
    dict[str, JsonValue] | str | None, Field(description="a JSON schema, as an object or as text")
]
Switch = Annotated[bool | None, Field(description="true or false")]
Whole = Annotated[int | None, Field(description="a whole number")]
Count = Annotated[int | None, Field(ge=0, description="a whole number of at least 0")]
TopK = Annotated[int | None, Field(ge=-1, description="a whole number, -1 or 0 for all tokens")]
Number = Annotated[float | None, Field(allow_inf_nan=False, description="a number")]
Penalty = Annotated[float | None, Field(ge=-2, le=2, description="a number from -2 to 2")]
Factor = Annotated[float | None, Field(gt=0, le=1e6, description="a number above 0")]
Share = Annotated[float | None, Field(ge=0, le=1, description="a number from 0 to 1")]

_GUIDED: Mapping[str, str] = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "guided_whitespace_pattern": "whitespace_pattern",
    "structural_tag": "structural_tag",
}
"""The old names of constraints, and what they are called inside `structured_outputs`."""
_GONE = ("best_of",)
_GONE_WITH_GUIDED = ("guided_decoding_backend",)
STRUCTURED = "structured_outputs"


class _Options(BaseModel):
    model_config = ConfigDict(
        extra="allow", strict=True, frozen=True, hide_input_in_errors=True, populate_by_name=True
    )


class StructuredOutputs(_Options):
    """A constraint on the answer: one of the first six."""

    json_schema: Schema = Field(None, alias="json")
    regex: Text = None
    choice: Texts = None
    grammar: Text = None
    json_object: Switch = None
    structural_tag: Text = None
    whitespace_pattern: Text = None
    disable_any_whitespace: Switch = None
    disable_additional_properties: Switch = None


class VllmOptions(_Options):
    """Further keys of a request to vLLM; keys that are not set are not sent."""

    structured_outputs: Annotated[
        StructuredOutputs | None, Field(description="an object such as {choice: [...]}")
    ] = None
    guided_json: Schema = None
    guided_regex: Text = None
    guided_choice: Texts = None
    guided_grammar: Text = None
    guided_whitespace_pattern: Text = None
    guided_decoding_backend: Text = None
    structural_tag: Text = None
    min_tokens: Count = None
    presence_penalty: Penalty = None
    frequency_penalty: Penalty = None
    repetition_penalty: Factor = None
    length_penalty: Number = None
    top_k: TopK = None
    min_p: Share = None
    best_of: Count = None
    use_beam_search: Switch = None
    ignore_eos: Switch = None
    skip_special_tokens: Switch = None
    spaces_between_special_tokens: Switch = None
    include_stop_str_in_output: Switch = None
    stop_token_ids: Tokens = None
    allowed_token_ids: Tokens = None
    bad_words: Texts = None
    prompt_logprobs: Whole = None
    truncate_prompt_tokens: Whole = None
    chat_template: Text = None
    chat_template_kwargs: Table = None
    reasoning_effort: Text = None
    include_reasoning: Switch = None
    thinking_token_budget: Count = None
    mm_processor_kwargs: Table = None
    priority: Whole = None
    cache_salt: Text = None

    @classmethod
    def validated(cls, extra_body: JsonMapping) -> "VllmOptions":
        """Return the validated keys.

        Raises:
            AIError: BAD_REQUEST about the first value of the wrong type.
        """
        try:
            return cls.model_validate(dict(extra_body))
        except ValidationError as error:
            raise _wrong(error.errors()[0]["loc"]) from error

    @property
    def constrains(self) -> bool:
        """Whether any of these has another name in another version."""
        return not self.model_fields_set.isdisjoint((STRUCTURED, *_GUIDED, *_GONE_WITH_GUIDED))

    def extra_body(self) -> JsonObject:
        """Return the keys as they were set."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    def for_server(self, *, structured: bool) -> tuple[JsonObject, tuple[str, ...]]:
        """Return the keys by the names of a server, and the names of those that it does not have.

        `structured` is whether it knows `structured_outputs`.
        """
        body = self.extra_body()
        missing = [name for name in _GONE if name in body]
        if structured:
            missing += [name for name in _GONE_WITH_GUIDED if name in body]
            named = present({new: body.pop(old, None) for old, new in _GUIDED.items()})
            if named:
                body[STRUCTURED] = named | as_object(body.get(STRUCTURED))
        elif STRUCTURED in body:
            missing += _spread(dict(as_object(body.pop(STRUCTURED))), body)
        return {key: value for key, value in body.items() if key not in missing}, tuple(missing)


def _spread(inner: JsonObject, body: JsonObject) -> list[str]:
    """Put each constraint under its old name; return the names of those that had none."""
    for old, new in _GUIDED.items():
        if new in inner:
            body.setdefault(old, inner.pop(new))
    if inner.pop("json_object", None):
        body.setdefault("response_format", {"type": "json_object"})
    return [f"{STRUCTURED}.{name}" for name, value in inner.items() if value]


def _wrong(loc: tuple[int | str, ...]) -> AIError:
    name = str(loc[0])
    kind = VllmOptions.model_fields[name].description
    if name == STRUCTURED and len(loc) > 1:
        inner = {
            field.alias or key: field for key, field in StructuredOutputs.model_fields.items()
        }.get(str(loc[1]))
        if inner is not None:
            name, kind = f"{name}.{loc[1]}", inner.description
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"The vLLM option `{name}` must be {kind}.",
        hint="Correct it in extra_body.",
    )
