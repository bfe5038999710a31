"""Tokens for transformers models: prompts, their masks, a decoder's side, the places of images and sound."""

from __future__ import annotations

from typing import Any

import torch

from opscope.inputs.config import eos_id, inner_configs, most_tokens, plain_id, text_config
from opscope.inputs.context import Asked, padding_offset
from opscope.inputs.facts import fact
from opscope.inputs.parts import ANSWER_TOKENS, PROMPT_TOKENS, Part, ones

_CHARACTERS = 0x110000  # code points


def add_text(asked: Asked) -> None:
    """input_ids with their mask, and what the same tokenizer would give beside them."""
    if "input_ids" not in asked.names or "input_ids" in asked.parts:
        return
    config = text_config(asked.config)
    vocabulary = vocabulary_of(asked, config)
    places = asked.places
    count = prompt_tokens(asked, config, sum(number for _, number in places))
    ids = prompt(asked, vocabulary, count)
    row = torch.cat([torch.full((number,), token) for token, number in places] + [ids])
    words = f"ids {int(ids[0])}" + "".join(f", {number} of id {token}" for token, number in places)
    why = f"{'' if not places else 'places of images or sound, then '}{count} tokens; {_of(vocabulary)}"
    shape = _rows(asked) if "decoder_input_ids" not in asked.names else (asked.sizes.batch,)
    tokens = row.expand(*shape, len(row))
    asked.add(Part("input_ids", why, tuple(tokens.shape), torch.int64, tokens, words, fill=int(ids[0])))
    if "attention_mask" in asked.names:
        rows = (asked.sizes.batch, *tokens.shape[1:])
        asked.add(ones("attention_mask", rows, "a tokenizer gives it: no padding"))


def vocabulary_of(asked: Asked, config: Any) -> int:
    """As many ids as there are; a model of characters has no vocabulary, and takes every small one."""
    value = getattr(config, "vocab_size", None)
    if isinstance(value, int):
        return value
    table = asked.embedding()
    return table.num_embeddings if table is not None else _CHARACTERS


def _of(vocabulary: int) -> str:
    return f"vocabulary of {vocabulary} in config" if vocabulary != _CHARACTERS else "characters, by their code"


def prompt_tokens(asked: Asked, config: Any, taken: int = 0) -> int:
    most, name = most_tokens(config)
    most = most - padding_offset(asked.model) if most else None
    room = max(1, most - taken) if most else None
    return asked.sizes.tokens(PROMPT_TOKENS, room, name)


def prompt(asked: Asked, vocabulary: int, count: int) -> torch.Tensor:
    """Ids that mean nothing in particular; an encoder-decoder's tokenizer ends with the end mark."""
    ids = torch.full((count,), plain_id(asked.config, vocabulary))
    end = eos_id(asked.config)
    if getattr(asked.config, "is_encoder_decoder", False) and end is not None and end < vocabulary:
        ids[-1] = end
    question = getattr(asked.config, "question_token_id", None)
    if isinstance(question, int) and count > 8:  # Splinter answers where this stands
        ids[count // 2] = question
    sep = getattr(asked.config, "sep_token_id", None)
    if isinstance(sep, int) and count > 8 and type(asked.model).__name__.endswith(("Answering", "MultipleChoice")):
        ids[[count // 8, count // 8 + 1, -1]] = sep  # question, text: Longformer looks for the marks between them
    return ids


def _rows(asked: Asked) -> tuple[int, ...]:
    batch = asked.sizes.batch * _codebooks(asked.model)
    return (batch, 2) if type(asked.model).__name__.endswith("ForMultipleChoice") else (batch,)


@fact
def _codebooks(model: Any) -> int:
    """Rows of ids for each sample: MusicGen has a table of its own for each book of its codec's codes."""
    for module in model.modules():
        tables = getattr(module, "embed_tokens", None)
        if isinstance(tables, torch.nn.ModuleList):
            return len(tables)
    return 1


def add_decoder(asked: Asked) -> None:
    """The decoder's side of an encoder-decoder: the start mark and the answer so far."""
    if "decoder_input_ids" not in asked.names or not _needs_decoder_ids(asked):
        return
    config = text_config(asked.config, decoder=True)
    vocabulary = vocabulary_of(asked, config)
    most, name = most_tokens(config, decoder=True)
    count = ANSWER_TOKENS if most is None else min(ANSWER_TOKENS, most)
    if "input_ids" not in asked.parts:  # the only tokens of a model that hears or sees
        count = asked.sizes.tokens(ANSWER_TOKENS, most, name)
    codes = getattr(getattr(asked.config, "decoder_config", None), "num_channels", None)
    inner = (codes,) if isinstance(codes, int) else ()  # several codes a step of sound
    row = torch.full((count, *inner), plain_id(asked.config, vocabulary))
    start = start_id(asked.config)
    if start is not None:
        row[0] = start
    token = int(row.flatten()[-1])
    words = f"ids {token}" if start is None else f"start {start}, then ids {token}"
    why = f"the decoder's side: {count} tokens; vocabulary of {vocabulary} in config"
    ids = row.expand(asked.sizes.batch * _codebooks(asked.model), *row.shape)
    asked.add(Part("decoder_input_ids", why, tuple(ids.shape), torch.int64, ids, words, fill=token))


def _needs_decoder_ids(asked: Asked) -> bool:
    """Heads that classify make the decoder's ids of the prompt's, and look for its end mark in both."""
    classifies = ("ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification")
    if type(asked.model).__name__.endswith(classifies) and "pixel_values" not in asked.names:
        return False
    flags = [getattr(inner, "is_encoder_decoder", False) for inner in inner_configs(asked.config)]
    return any(flags) or "encoder_outputs" in asked.names or "pixel_values" in asked.names


def start_id(config: Any) -> int | None:
    for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"):
        for inner in inner_configs(config):
            value = getattr(inner, name, None)
            if isinstance(value, int) and value >= 0:
                return value
    return None
