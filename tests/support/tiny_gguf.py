"""A tiny language model with weights written by hand: the real engine says known texts with it.

Every state of a reply is one token, and the output matrix holds the transitions, so that ordinary
decoding walks a known text at any temperature. The chat template picks the reply from the last
message. One byte of input is one token; held to a grammar it writes the shortest legal JSON.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from tests.support.stored import FOLDER

Matrix = NDArray[np.float64]

TEMPLATE = FOLDER.joinpath("tiny_template.jinja").read_text("utf-8")
"""It picks the reply from the last message."""

BOS, EOS, IM_START, IM_END = "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>"
THINK, END_THINK = "<think>", "</think>"
TOOL, END_TOOL = "<tool_call>", "</tool_call>"

HELLO = (
    "Hello! I am a very small model that runs inside llama.cpp. "
    "Ask me to **think**, or give me a tool."
)
THOUGHT = "The person wants me to reason first. Two and two make four."
ANSWER = "The answer is **4**."
MARKDOWN = (
    "# Heading\n\n- one\n- two\n\n```python\nprint('hi')\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)
UNICODE = "Gr\u00fc\u00dfe! \u4f60\u597d, \u043c\u0438\u0440 \u2014 \U0001f642 caf\u00e9."
AFTER_TOOL = "The tool answered, so now I can: it is sunny there."
FOREVER_PIECE = " again and"

SCRIPTS = {
    "<|say:hello|>": HELLO,
    "<|say:think|>": f"{THINK}\n{THOUGHT}\n{END_THINK}\n\n{ANSWER}",
    "<|say:markdown|>": MARKDOWN,
    "<|say:tool|>": (
        f'{TOOL}\n{{"name": "get_weather", "arguments": {{"city": "Paris"}}}}\n{END_TOOL}'
    ),
    "<|say:after|>": AFTER_TOOL,
    "<|say:unicode|>": UNICODE,
}
"""Start token and what the model then says."""
CALL, CALL_OPENING = "<|say:call|>", f"{TOOL}\n"
"""The grammar of the offered tools writes the rest."""
FOREVER = "<|say:forever|>"
"""One piece that follows itself: an answer that never ends."""

CONTEXT = 32_768
HEAD_WIDTH = 64
BAG = 48
"""Dimensions that no transition looks at: they tell input bytes apart."""
SURE, CALL_INSTEAD, CLOSE_SOON = 150.0, 130.0, 10.0
SEED = 7


def write_scripted(
    path: Path,
    template: str | None = TEMPLATE,
    *,
    base_model: str | None = None,
    pooling: gguf.PoolingType | None = None,
    after: Mapping[str, str] | None = None,
) -> None:
    """Write the model; with another template it says nothing that was planned.

    `base_model` is the model that it claims to be made from. With `pooling` it makes embeddings.
    `after` is what it says where the prompt ends with a marker, such as `THINK`.
    """
    script = _Script(after or {})
    embedding, output = _weights(script)
    width = embedding.shape[1]
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer, width, len(script.vocabulary.tokens))
    if base_model is not None:
        writer.add_base_model_count(1)
        writer.add_base_model_name(0, base_model)
    if pooling is not None:
        writer.add_pooling_type(pooling)
    add_tokenizer(writer, script.vocabulary, template)
    _add_tensors(writer, embedding, output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _byte_characters() -> dict[int, str]:
    """GPT-2's map from bytes to printable characters, in which its vocabularies are written."""
    kept = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = (byte for byte in range(256) if byte not in kept)
    return {byte: chr(byte) for byte in kept} | {
        byte: chr(256 + n) for n, byte in enumerate(others)
    }


BYTES = _byte_characters()


def spell(text: str) -> str:
    """Return a text as the vocabulary writes it."""
    return "".join(BYTES[byte] for byte in text.encode())


class Vocabulary:
    """Tokens: the bytes, the special ones, and what is added."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.types: list[int] = []
        self.ids: dict[str, int] = {}
        for byte in range(256):
            self.add(BYTES[byte], gguf.TokenType.NORMAL)
        for special in (BOS, EOS, IM_START, IM_END):
            self.add(special, gguf.TokenType.CONTROL)
        for marker in (THINK, END_THINK, TOOL, END_TOOL):
            self.add(marker, gguf.TokenType.USER_DEFINED)

    def add(self, token: str, kind: int) -> int:
        """Return the number of a token, adding it if it is new."""
        if token not in self.ids:
            self.ids[token] = len(self.tokens)
            self.tokens.append(token)
            self.types.append(int(kind))
        return self.ids[token]

    def add_states(self, text: str) -> list[int]:
        """Spell the text in tokens that were never used before: each is one state."""
        states: list[int] = []
        held = ""
        parts = [part for part in re.split(r"(<[^<>\s]+>|\s?[^\s<]+|\s)", text) if part]
        for part in parts:
            held += part
            is_last = part is parts[-1]
            if spell(held) not in self.ids and (is_last or len(held) > 1):
                states.append(self.add(spell(held), gguf.TokenType.NORMAL))
                held = ""
        if held:
            self._lengthen(states[-1], held)
        return states

    def _lengthen(self, state: int, text: str) -> None:
        """Join a tail that was met before to the token before it."""
        grown = self.tokens[state] + spell(text)
        assert grown not in self.ids
        del self.ids[self.tokens[state]]
        self.tokens[state] = grown
        self.ids[grown] = state


class _Script:
    """The vocabulary, and which token follows which."""

    def __init__(self, after: Mapping[str, str]) -> None:
        self.vocabulary = Vocabulary()
        self.end = self.vocabulary.ids[IM_END]
        self.follow: dict[int, int] = {}
        self.last_words: list[int] = []
        for start, text in (*SCRIPTS.items(), *after.items()):
            self._add(start, text)
        self.call = self.vocabulary.add(spell(CALL_OPENING), gguf.TokenType.NORMAL)
        self.follow[self.vocabulary.add(CALL, gguf.TokenType.CONTROL)] = self.call
        loop = self.vocabulary.add(spell(FOREVER_PIECE), gguf.TokenType.NORMAL)
        self.follow[self.vocabulary.add(FOREVER, gguf.TokenType.CONTROL)] = loop
        self.follow[loop] = loop

    def _add(self, start: str, text: str) -> None:
        at = self.vocabulary.add(start, gguf.TokenType.CONTROL)
        for state in self.vocabulary.add_states(text):
            self.follow[at] = state
            at = state
        self.follow[at] = self.end
        self.last_words.append(at)


def _weights(script: _Script) -> tuple[Matrix, Matrix]:
    slots = {token: slot for slot, token in enumerate(sorted(script.follow), start=1)}
    size = len(script.vocabulary.tokens)
    width = -(-(len(slots) + 1 + BAG) // HEAD_WIDTH) * HEAD_WIDTH
    # What the RMS norm makes of a state's dimension, and of the one that all other tokens share.
    tall, short = np.sqrt(width), 0.5 * np.sqrt(width / 1.25)
    output = np.zeros((size, width))
    for token, slot in slots.items():
        output[script.follow[token], slot] = SURE / tall
    output[script.end, 0] = SURE / short
    for token in script.last_words:  # where stopping is not allowed, a tool is called
        output[script.call, slots[token]] = CALL_INSTEAD / tall
    for rank, character in enumerate('[1,<{:]}"', start=2):  # under a grammar: close soon
        row = script.vocabulary.ids[character]
        output[row, 0] = CLOSE_SOON * rank / short
        output[row, 1:-BAG] = CLOSE_SOON * rank / tall
    return _embedding(slots, size, width), output


def _embedding(slots: dict[int, int], size: int, width: int) -> Matrix:
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], (size, BAG)) / np.sqrt(BAG)
    embedding = np.zeros((size, width))
    embedding[:, 0], embedding[:, -BAG:] = 0.5, signs
    embedding[[*slots]] = 0.0
    embedding[[*slots], [*slots.values()]] = 1.0
    return embedding


def _describe(writer: gguf.GGUFWriter, width: int, vocabulary_size: int) -> None:
    writer.add_name("tiny-scripted")
    writer.add_description("Hand-written weights: says known replies.")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(width // HEAD_WIDTH)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(vocabulary_size)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(2)


def add_tokenizer(
    writer: gguf.GGUFWriter, vocabulary: Vocabulary, template: str | None = TEMPLATE
) -> None:
    """Write the vocabulary, and the template of a chat, if there is one."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges([f"{BYTES[0]} {BYTES[1]}"])  # wanted by the engine; never occurs
    writer.add_bos_token_id(vocabulary.ids[BOS])
    writer.add_eos_token_id(vocabulary.ids[IM_END])
    writer.add_eot_token_id(vocabulary.ids[IM_END])
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)


def _add_tensors(writer: gguf.GGUFWriter, embedding: Matrix, output: Matrix) -> None:
    width = embedding.shape[1]
    _add_matrix(writer, "token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    _add_matrix(writer, "output.weight", output)
    writer.add_tensor("blk.0.attn_norm.weight", np.ones(width, np.float32))
    _add_matrix(writer, "blk.0.attn_q.weight", np.zeros((width, width)))
    _add_matrix(writer, "blk.0.attn_k.weight", np.zeros((HEAD_WIDTH, width)))
    _add_matrix(writer, "blk.0.attn_v.weight", np.zeros((HEAD_WIDTH, width)))
    _add_matrix(writer, "blk.0.attn_output.weight", np.zeros((width, width)))
    writer.add_tensor("blk.0.ffn_norm.weight", np.ones(width, np.float32))
    _add_matrix(writer, "blk.0.ffn_gate.weight", np.zeros((32, width)))
    _add_matrix(writer, "blk.0.ffn_up.weight", np.zeros((32, width)))
    _add_matrix(writer, "blk.0.ffn_down.weight", np.zeros((width, 32)))


def _add_matrix(writer: gguf.GGUFWriter, name: str, values: Matrix) -> None:
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor(name, gguf.quants.quantize(values.astype(np.float32), kind), raw_dtype=kind)
