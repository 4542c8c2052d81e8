"""A context window that is full, by the words in which servers refuse a prompt."""

import re

from ollm_tui.decode.json_fields import integer
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.error_body import ErrorBody

_OVERFLOW = re.compile(
    # codes
    r"context_length_exceeded|exceed_context_size|too_many_prompt_tokens|too_many_tokens"
    r"|context_window_exceeded|contextwindowexceeded|context_overflow|string_above_max_length"
    r"|prompt_too_long|input_too_long"
    # "the prompt is too long", whatever the prompt is called
    r"|(?:prompt|input|conversation|context|message)s? (?:is|are|was)? ?too (?:long|large)\b"
    r"|\btoo many (?:input |prompt )?tokens|too long to fit into the model"
    r"|too large for model with|request exceeds the maximum size"
    # the window by one of its names
    r"|(?:maximum|max|model'?s?) (?:allowed )?(?:context|input|prompt|sequence|model) "
    r"(?:length|size)"
    r"|maximum (?:input|prompt) tokens?\b|max_model_len|max_seq_len|max_input_tokens"
    r"|context (?:length|window|size|limit|overflow)|kv cache (?:is )?full"
    r"|(?:exceed|greater)[^.]{0,40}\bn_ctx\b"
    # "N tokens are more than M"
    r"|(?:input|prompt|requested) tokens? (?:count)?[^.]{0,60}(?:exceed|more than)"
    r"|(?:input|prompt|sequence|inputs?) length[^.]{0,60}(?:exceed|more than|should be)"
    r"|tokens in request more than max|exceed(?:s|ed)?[^.]{0,20} token limit"
    r"|token limit (?:is )?exceeded|exceeds? the maximum number of tokens"
    r"|`?inputs`? (?:tokens \+ `?max_new_tokens`? must be|must have less than)"
    r"|prompt exceeds (?:the )?max|(?:reduce|shorten) (?:the length of )?(?:the|your) "
    r"(?:messages|prompt|input)|reached its limit of tokens"
    r"|超长|超过最大长度|超出最大长度|上下文长度",
    re.IGNORECASE,
)
"""A full window, by the words of some thirty servers."""
_PACE = re.compile(
    r"rate.?limit|\bper[ _-]?(?:second|min|hour|day)|daily|monthly|\bTP[MD]\b|throttl"
    r"|please wait|too many requests",
    re.IGNORECASE,
)
"""Too many tokens in a while are not too many at once."""
_SIZES = (
    re.compile(r"\((?P<used>\d+) tokens\).*?\((?P<limit>\d+) tokens\)"),
    re.compile(r"context length (?:is|of) (?P<limit>\d+) tokens.*?(?P<used>\d+) tokens", re.DOTALL),
    re.compile(r"(?P<used>\d+) tokens > (?P<limit>\d+)"),
    re.compile(r"context length (?:is|of) (?P<limit>\d+).*?(?P<used>\d+) input tokens", re.DOTALL),
    re.compile(r"context length (?:is|of) (?P<limit>\d+)"),
    re.compile(r"length (?P<used>\d+)\).*?model length of (?P<limit>\d+)"),
    re.compile(r"length (?P<used>\d+)\).*?context length (?P<limit>\d+)"),
    re.compile(r"count (?:of )?\(?(?P<used>\d+)\)? exceeds.{0,50}?\(?(?P<limit>\d+)"),
    re.compile(r"prompt length is (?P<limit>\d+).{0,50}?contains (?P<used>\d+) tokens"),
    re.compile(r"contains (?P<used>\d+) tokens.{0,50}?(?P<limit>\d+) maximum context"),
    re.compile(r"[Ll]ength \(?(?P<used>\d+)\)? exceeds.{0,50}?length (?:of )?\(?(?P<limit>\d+)"),
    re.compile(r"token limit: (?P<limit>\d+) \(requested: (?P<used>\d+)"),
    re.compile(r"has (?P<used>\d+) tokens, but the configured context size is (?P<limit>\d+)"),
    re.compile(r"less than (?P<limit>\d+) tokens\. Given: (?P<used>\d+)"),
    re.compile(r"input length should be \[\d+, (?P<limit>\d+)\]"),
)


def is_overflow(words: str) -> bool:
    """Tell whether a refusal means that the prompt does not fit the window."""
    return _OVERFLOW.search(words) is not None and _PACE.search(words) is None


def overflow_sizes(refusal: ErrorBody) -> JsonObject:
    """Read how many tokens the prompt has and the window holds; None for what is not told."""
    used = integer(refusal.fields, "n_prompt_tokens")
    limit = integer(refusal.fields, "n_ctx")
    for pattern in _SIZES:
        match = pattern.search(refusal.message or "")
        if match:
            named = match.groupdict()
            used = used or (int(named["used"]) if named.get("used") else None)
            limit = limit or int(named["limit"])
    return {"prompt_tokens": used, "context_tokens": limit}
