"""The shipped table of transformers models against the counts that their authors published."""

from __future__ import annotations

import json

import pytest

from opscope.options import Options
from opscope.sources import hf_known, hf_models
from reference_models import parameter_count

ROWS = {row.id: row for row in hf_known.table().values()}

# Broad, and quick to import: one of each kind, the largest included.
FAST = (
    "bert-base-uncased",
    "gpt2",
    "t5-small",
    "google/flan-t5-base",
    "meta-llama/Llama-3.2-1B",
    "meta-llama/Llama-3.1-405B",
    "mistralai/Mixtral-8x7B-v0.1",
    "openai/whisper-tiny",
    "facebook/detr-resnet-50",
    "google/vit-base-patch16-224",
    "openai/clip-vit-base-patch32",
    "deepseek-ai/DeepSeek-V3",
)


def assert_published(name: str) -> None:
    row = ROWS[name]
    source = hf_models.find(name, Options(), lambda _: None)
    assert source is not None
    count = parameter_count(source.model)
    assert count in row.parameters, f"{name}: published {row.published} ({row.counted_by}), built {count:,}"
    assert source.text == f"transformers {_version()}, {row.class_name}"


def _version() -> str:
    import transformers

    return str(transformers.__version__)


@pytest.mark.parametrize("name", FAST)
def test_count_is_the_published_one(name: str) -> None:
    assert_published(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(ROWS) - set(FAST)))
def test_every_count_is_the_published_one(name: str) -> None:
    assert_published(name)


def test_known_exact_counts_are_kept() -> None:
    """The table must not drift: these are stated elsewhere, to the parameter."""
    assert ROWS["bert-base-uncased"].published == 109_482_240
    assert ROWS["gpt2"].published == 124_439_808
    assert ROWS["meta-llama/Llama-3.1-405B"].published == 405_853_388_800
    assert ROWS["openai/whisper-tiny"].published == 37_760_640
    assert ROWS["facebook/detr-resnet-50"].published == 41_524_768  # 91 classes


def test_a_rounded_count_stands_for_what_rounds_to_it() -> None:
    assert hf_known.rounded_range(12) == range(12, 13)
    assert hf_known.rounded_range("86.6M") == range(86_550_000, 86_650_001)
    assert hf_known.rounded_range("671B") == range(670_500_000_000, 671_500_000_001)


def test_table_has_no_row_twice_and_names_its_kind() -> None:
    with open(hf_known.TABLE, encoding="utf-8") as file:
        entries = json.load(file)["models"]
    names = [name for entry in entries for name in (entry["id"], *entry.get("aliases", []))]
    assert len(names) == len(set(names)) == len(hf_known.table())
    assert all(entry["config"]["model_type"] and entry["family"] and entry["counted_by"] for entry in entries)
    assert len(entries) > 500
