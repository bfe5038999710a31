"""Transformers models by id, folder and config: how each is found, which class, what is built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.options import Options
from opscope.sources import hf_build, hf_heads, hf_known, hf_models
from reference_models import parameter_count

ROWS = {row.id: row for row in hf_known.table().values()}

def find(spec: str, **request: Any) -> Any:
    source = hf_models.find(spec, Options(**request), lambda _: None)
    assert source is not None
    return source


def write_config(folder: Path, **config: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


TINY: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def test_parameters_have_no_data_and_buffers_have() -> None:
    model = find("meta-llama/Llama-3.1-8B").model
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert {buffer.device.type for buffer in model.buffers()} == {"cpu"}
    assert not model.training
    assert model.model.rotary_emb.inv_freq[0] == 1.0


def test_tied_weights_are_one_parameter_and_untied_ones_two() -> None:
    gpt2 = find("gpt2").model
    assert gpt2.lm_head.weight is gpt2.transformer.wte.weight
    flan = find("google/flan-t5-base").model
    assert flan.lm_head.weight is not flan.shared.weight
    assert flan.encoder.embed_tokens.weight is flan.shared.weight


def test_built_in_float32_and_says_what_was_published() -> None:
    source = find("meta-llama/Llama-3.2-1B")
    assert {str(parameter.dtype) for parameter in source.model.parameters()} == {"torch.float32"}
    assert source.notes == ["profiled in float32; the published weights are bfloat16 (--dtype bfloat16)"]
    assert find("meta-llama/Llama-3.2-1B", dtype="bfloat16").notes == []
    assert find("bert-base-uncased").notes == []


def test_class_by_name_and_by_task() -> None:
    assert type(find("bert-base-uncased#BertForMaskedLM").model).__name__ == "BertForMaskedLM"
    assert type(find("bert-base-uncased", task="question-answering").model).__name__ == "BertForQuestionAnswering"
    assert type(find("gpt2", task="sentiment-analysis").model).__name__ == "GPT2ForSequenceClassification"
    assert type(find("openai/whisper-tiny", task="asr").model).__name__ == "WhisperForConditionalGeneration"
    assert find("gpt2", task="feature-extraction").text.endswith(", GPT2Model")
    assert parameter_count(find("openai/clip-vit-base-patch32#CLIPTextModel").model) == 63_165_952


@pytest.mark.parametrize(
    ("spec", "task", "what", "near"),
    [
        ("bert-base-uncased", "fill-masc", "no task called 'fill-masc'", "fill-mask"),
        ("bert-base-uncased", "object-detection", "transformers has no bert model for 'object-detection'", None),
        ("gpt2#GPT2LMHead", None, "transformers has no model class called 'GPT2LMHead'", "GPT2LMHeadModel"),
        ("gpt2#BertModel", None, "BertModel is not built from a gpt2 config", None),
        ("gpt2#BertTokenizer", None, "transformers has no model class called 'BertTokenizer'", None),
        ("openai/whisper-tini", None, "openai/whisper-tini is not in the local hub cache", "openai/whisper-tiny"),
    ],
)
def test_wrong_names_say_what_is_near(spec: str, task: str | None, what: str, near: str | None) -> None:
    with pytest.raises(opscope.Error, match=what) as caught:
        find(spec, task=task)
    assert caught.value.hint
    assert near is None or near in caught.value.candidates


def test_three_ids_are_named_however_far_off() -> None:
    with pytest.raises(opscope.Error) as caught:
        find("Qwen/Qwen9")
    assert len(caught.value.candidates) == 3 and all("Qwen/" in name for name in caught.value.candidates)


def test_names_of_others_are_left_to_them(tmp_path: Path) -> None:
    for spec in ("resnet18", "timm/resnet50.a1_in1k", "models.py:make", str(tmp_path)):
        assert hf_models.find(spec, Options(), lambda _: None) is None


def test_folder_and_file(tmp_path: Path) -> None:
    path = write_config(tmp_path / "mine", **TINY, architectures=["BertForTokenClassification"])
    for spec in (str(path.parent), str(path)):
        source = find(spec)
        assert (source.name, type(source.model).__name__) == ("mine", "BertForTokenClassification")
        assert str(path) in source.dependencies and hf_known.TABLE in source.dependencies
        assert source.cacheable and all(os.path.isfile(file) for file in source.dependencies)
    other = path.rename(tmp_path / "other.json")
    assert find(str(other)).name == "other"
    capture = write_config(tmp_path / "x", schema_version=1).rename(tmp_path / "capture.json")
    assert hf_known.config_file(str(capture)) is None


def test_without_architectures_the_bare_model_is_built(tmp_path: Path) -> None:
    assert type(find(str(write_config(tmp_path, **TINY))).model).__name__ == "BertModel"
    unknown = write_config(tmp_path, **TINY, architectures=["TFBertForPreTraining"])
    assert type(find(str(unknown)).model).__name__ == "BertModel"


def test_an_older_config_with_a_timm_backbone_needs_no_network(tmp_path: Path) -> None:
    path = write_config(
        tmp_path,
        model_type="detr",
        architectures=["DetrForObjectDetection"],
        backbone="resnet50",
        backbone_kwargs={"in_chans": 3, "out_indices": [1, 2, 3, 4]},
        use_timm_backbone=True,
        use_pretrained_backbone=True,
        num_labels=91,
    )
    assert parameter_count(find(str(path)).model) == ROWS["facebook/detr-resnet-50"].published


@pytest.mark.parametrize(
    ("config", "what", "near"),
    [
        ({"hidden_size": 8}, "no model_type", None),
        ({"model_type": "berd"}, "has no model type 'berd'", "bert"),
        ({**TINY, "num_attention_heads": 5}, "BertModel does not build: ValueError: The hidden size", None),
        ({**TINY, "hidden_size": "wide"}, "hidden_size", None),
    ],
)
def test_bad_configs_say_where(tmp_path: Path, config: dict[str, Any], what: str, near: str | None) -> None:
    path = write_config(tmp_path, **config)
    with pytest.raises(opscope.Error, match=what) as caught:
        find(str(path))
    assert near is None or near in caught.value.candidates
    path.write_text("[1, 2")
    with pytest.raises(opscope.Error, match="not a transformers config: JSONDecodeError") as caught:
        find(str(path))
    assert caught.value.where == str(path)


REMOTE_CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel


class OwnConfig(PretrainedConfig):
    model_type = "opscope_own"


class OwnModel(PreTrainedModel):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(3, 4)
        self.post_init()

    def forward(self, input_ids):
        return self.layer(input_ids)
"""


def test_code_of_its_own_runs_only_when_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    folder = tmp_path / "own"
    write_config(
        folder,
        model_type="opscope_own",
        auto_map={"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"},
    )
    (folder / "own.py").write_text(REMOTE_CODE)
    with pytest.raises(opscope.Error, match="built by its own code") as caught:
        find(str(folder))
    assert "--trust" in caught.value.hint
    source = find(str(folder), trust=True)
    assert parameter_count(source.model) == 3 * 4 + 4
    assert not source.cacheable


def test_native_classes_need_no_trust(tmp_path: Path) -> None:
    write_config(tmp_path, **TINY, auto_map={"AutoModel": "modeling.Other"})
    assert type(find(str(tmp_path)).model).__name__ == "BertModel"


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    return tmp_path / "hub"


def cache_config(cache: Path, hub_id: str, revision: str, **config: Any) -> Path:
    folder = cache / ("models--" + hub_id.replace("/", "--"))
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(revision)
    return write_config(folder / "snapshots" / revision, **config)


def test_hub_cache_is_used_before_the_table(hub_cache: Path) -> None:
    cache_config(hub_cache, "someone/tiny", "old", **TINY)
    path = cache_config(hub_cache, "someone/tiny", "new", **TINY, architectures=["BertForMaskedLM"])
    source = find("someone/tiny")
    assert (source.name, type(source.model).__name__) == ("someone/tiny", "BertForMaskedLM")
    assert str(path) in source.dependencies
    cache_config(hub_cache, "gpt2", "abc", model_type="gpt2", n_layer=1, architectures=["GPT2Model"])
    smaller = find("gpt2")
    assert len(smaller.model.transformer.h) == 1
    assert type(smaller.model).__name__ == "GPT2LMHeadModel"  # the row's class, whoever wrote the config
    assert ("someone/tiny", "bert") in hf_models.listed()
    assert "someone/tiny" in opscope.discover_transformers("tiny")


def test_download_without_a_network_says_so(hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(opscope.Error, match="the config of someone/nowhere could not be fetched") as caught:
        find("someone/nowhere", download=True)
    assert "config.json" in caught.value.hint
    with pytest.raises(opscope.Error, match="not in the local hub cache") as caught:
        find("someone/nowhere")
    assert "--download" in caught.value.hint and "opscope list" in caught.value.hint


def test_with_data_builds_real_weights(tmp_path: Path) -> None:
    source = find(str(write_config(tmp_path, **TINY)))
    model = source.with_data()
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}
    assert model.embeddings.word_embeddings.weight.std() > 0
    assert parameter_count(model) == parameter_count(source.model)
    assert next(find(str(tmp_path), tracer="eager").model.parameters()).device.type == "cpu"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bert-base-uncased", "tokens"),
        ("hf:gpt2", "tokens"),
        ("t5-small", "tokens"),
        ("facebook/detr-resnet-50", "detr"),
        ("google/vit-base-patch16-224", "image"),
        ("openai/whisper-tiny", "audio"),
        ("facebook/wav2vec2-base-960h", "audio"),
        ("google/vivit-b-16x2-kinetics400", "video"),
        ("openai/clip-vit-base-patch32", "image+tokens"),
    ],
)
def test_load_transformer_model(name: str, kind: str) -> None:
    model, input_type = hf_models.load_transformer_model(name)
    assert input_type == kind
    assert parameter_count(model) in ROWS[name.removeprefix("hf:")].parameters


def test_load_transformer_model_of_an_unknown_name() -> None:
    with pytest.raises(opscope.Error, match="no transformers model called 'gpt22'") as caught:
        hf_models.load_transformer_model("gpt22")
    assert "gpt2" in caught.value.candidates


def test_every_task_names_mappings_that_exist() -> None:
    mappings = {name for names in hf_heads.TASKS.values() for name in names}
    assert all(hasattr(hf_heads._auto(), f"{name}_MAPPING_NAMES") for name in mappings)
    assert "fill-mask" in hf_heads.tasks_of("bert") and "object-detection" not in hf_heads.tasks_of("bert")


def test_listing_imports_no_transformers() -> None:
    code = "import sys; from opscope.sources import hf_models; print(len(hf_models.listed()), 'transformers' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    count, imported = run.stdout.split()
    assert int(count) >= len(hf_known.table()) and imported == "False"


def test_what_is_found_can_be_profiled() -> None:
    import torch

    model = find("bert-base-uncased").model
    tokens = torch.ones(1, 128, dtype=torch.int64)
    profile = opscope.profile(
        model, {"input_ids": tokens, "attention_mask": tokens}, tracer="static", convention="torch"
    )
    linear = 12 * 128 * (4 * 768 * 768 + 2 * 768 * 3072) + 768 * 768  # and the pooler's, of one token
    attention = 12 * 2 * 128 * 128 * 768
    assert profile.totals.params == 109_482_240
    assert profile.totals.flops == 2 * (linear + attention)


def test_input_type_is_not_read_from_names() -> None:
    assert hf_build.input_type(find("hustvl/yolos-tiny").model) == "detr"
    assert hf_build.input_type(find("microsoft/layoutlm-base-uncased").model) == "tokens"
