"""Transformers models, built small from their configs: each gets inputs that it runs with, by shapes alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import nn

import opscope
from opscope.engine import abstract_run
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.options import Options
from opscope.sources import Source
from opscope.sources.hf_build import Builder

IDS = ("input_ids", "attention_mask")
ENCODER_DECODER = (*IDS, "decoder_input_ids")
IMAGE = ("pixel_values",)

# Class, the arguments that are planned, and what of its config is made small.
CASES: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    *(
        (f"{name}Model", IDS, {"num_hidden_layers": 1}) for name in (
            "Bert", "Roberta", "Electra", "Albert", "DebertaV2"
        )
    ),
    *((f"{name}Model", IDS, {"num_hidden_layers": 1}) for name in ("MPNet", "XLMRoberta", "ModernBert", "Longformer")),
    ("DistilBertModel", IDS, {"n_layers": 1}),
    ("BigBirdModel", IDS, {"num_hidden_layers": 1}),
    ("CanineModel", IDS, {"num_hidden_layers": 1}),
    ("BertForMaskedLM", IDS, {"num_hidden_layers": 1}),
    ("BertForQuestionAnswering", IDS, {"num_hidden_layers": 1}),
    ("BertForMultipleChoice", IDS, {"num_hidden_layers": 1}),
    ("XLNetModel", IDS, {"n_layer": 1}),
    ("GPT2LMHeadModel", IDS, {"n_layer": 1}),
    *(
        (f"{name}ForCausalLM", IDS, {"num_hidden_layers": 1}) for name in (
            "Llama", "Mistral", "Qwen2", "Gemma2", "Phi3"
        )
    ),
    *(
        (f"{name}ForCausalLM", IDS, {"num_hidden_layers": 1}) for name in (
            "OPT", "GPTNeoX", "Falcon", "Qwen3", "Cohere"
        )
    ),
    ("MixtralForCausalLM", IDS, {"num_hidden_layers": 1}),
    ("BloomForCausalLM", IDS, {"n_layer": 1}),
    ("MambaForCausalLM", IDS, {"num_hidden_layers": 1}),
    ("LlamaForSequenceClassification", IDS, {"num_hidden_layers": 1}),
    ("T5ForConditionalGeneration", ENCODER_DECODER, {"num_layers": 1}),
    ("BartForConditionalGeneration", ENCODER_DECODER, {"encoder_layers": 1, "decoder_layers": 1}),
    ("BartForSequenceClassification", IDS, {"encoder_layers": 1, "decoder_layers": 1}),
    ("PegasusForConditionalGeneration", ENCODER_DECODER, {"encoder_layers": 1, "decoder_layers": 1}),
    ("LEDForConditionalGeneration", ENCODER_DECODER, {"encoder_layers": 1, "decoder_layers": 1}),
    *((f"{name}Model", IMAGE, {"num_hidden_layers": 1}) for name in ("ViT", "DeiT", "Beit", "Dinov2", "IJepa")),
    ("SwinModel", IMAGE, {}),
    ("ConvNextModel", IMAGE, {}),
    ("ResNetForImageClassification", IMAGE, {}),
    ("MobileNetV2Model", IMAGE, {}),
    ("SegformerForSemanticSegmentation", IMAGE, {}),
    ("DPTForDepthEstimation", IMAGE, {}),
    ("DetrForObjectDetection", (*IMAGE, "pixel_mask"), {"encoder_layers": 1, "decoder_layers": 1}),
    ("RTDetrForObjectDetection", (*IMAGE, "pixel_mask"), {"decoder_layers": 1}),
    ("YolosForObjectDetection", IMAGE, {"num_hidden_layers": 1}),
    ("VideoMAEModel", IMAGE, {"num_hidden_layers": 1}),
    ("TimesformerModel", IMAGE, {"num_hidden_layers": 1}),
    ("VivitModel", IMAGE, {"num_hidden_layers": 1}),
    ("SamModel", (*IMAGE, "input_points", "input_labels"), {}),
    ("CLIPModel", ("input_ids", "pixel_values", "attention_mask"), {}),
    ("SiglipModel", ("input_ids", "pixel_values", "attention_mask"), {}),
    ("XCLIPModel", ("input_ids", "pixel_values", "attention_mask"), {}),
    ("OwlViTForObjectDetection", ("input_ids", "pixel_values", "attention_mask"), {}),
    ("GroundingDinoForObjectDetection", ("pixel_values", "input_ids", "attention_mask", "pixel_mask"), {}),
    ("BlipForConditionalGeneration", ("pixel_values", "input_ids", "attention_mask"), {}),
    ("LlavaForConditionalGeneration", ("input_ids", "pixel_values", "attention_mask"), {}),
    ("PaliGemmaForConditionalGeneration", ("input_ids", "pixel_values", "attention_mask"), {}),
    ("LayoutLMModel", ("input_ids", "bbox", "attention_mask"), {"num_hidden_layers": 1}),
    ("LxmertModel", ("input_ids", "visual_feats", "visual_pos", "attention_mask"), {}),
    ("WhisperForConditionalGeneration", ("input_features", "decoder_input_ids"), {}),
    ("Wav2Vec2Model", ("input_values",), {"num_hidden_layers": 1}),
    ("Wav2Vec2BertModel", ("input_features",), {"num_hidden_layers": 1}),
    ("HubertModel", ("input_values",), {"num_hidden_layers": 1}),
    ("ASTModel", ("input_values",), {"num_hidden_layers": 1}),
    ("Speech2TextForConditionalGeneration", ("input_features", "decoder_input_ids"), {"encoder_layers": 1}),
    ("SpeechT5ForTextToSpeech", ("input_ids", "attention_mask", "decoder_input_values", "speaker_embeddings"), {}),
    ("ClapModel", ("input_ids", "input_features", "is_longer", "attention_mask"), {}),
    ("EncodecModel", ("input_values",), {}),
    ("DecisionTransformerModel", ("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"), {}),
    ("PatchTSTModel", ("past_values",), {"num_hidden_layers": 1}),
    ("PerceiverForMaskedLM", ("inputs",), {"num_self_attends_per_block": 1}),
]


def build(class_name: str, **small: Any) -> nn.Module:
    model_class = getattr(transformers, class_name)
    config = model_class.config_class(**small)
    return Builder(class_name, model_class, config).build()


def plan(model: nn.Module, **asked: Any) -> InputPlan:
    return plan_inputs(Source(model, type(model).__name__, ""), Options(**asked))


def shapes(planned: InputPlan) -> dict[str, tuple[int, ...] | None]:
    return {row.name: row.shape for row in planned.rows}


@pytest.mark.parametrize(("class_name", "names", "small"), CASES, ids=[case[0] for case in CASES])
def test_planned_inputs_run(class_name: str, names: tuple[str, ...], small: dict[str, Any]) -> None:
    model = build(class_name, **small)
    planned = plan(model)
    assert set(shapes(planned)) == set(names)
    assert all(row.why for row in planned.rows)
    inputs = planned.make()
    graph = abstract_run.capture(model, inputs.args, inputs.kwargs, tracer="static")
    assert opscope.Capture(graph).profile().totals.macs > 0


@pytest.fixture(scope="module")
def bert() -> nn.Module:
    return build("BertModel", num_hidden_layers=1)


def test_ids_are_real_and_mean_nothing(bert: nn.Module) -> None:
    values = plan(bert).make().kwargs
    special = {bert.config.pad_token_id, bert.config.bos_token_id, bert.config.eos_token_id}
    assert values["input_ids"].dtype == torch.int64 and not set(values["input_ids"].flatten().tolist()) & special
    assert bool(values["attention_mask"].all())


def test_reasons(bert: nn.Module) -> None:
    rows = {row.name: row for row in plan(bert).rows}
    assert rows["input_ids"].why == "128 tokens; vocabulary of 30522 in config"
    assert rows["attention_mask"].value == "ones"
    detr = plan(build("DetrForObjectDetection", encoder_layers=1, decoder_layers=1)).rows
    assert detr[0].shape == (1, 3, 800, 800) and "DetrImageProcessor makes 800x800" in detr[0].why


@pytest.mark.parametrize(
    ("asked", "length", "batch"),
    [
        ({"seq_len": 64}, 64, 1),
        ({"seq_len": 64, "batch": 2}, 64, 2),
        ({"input_shape": (2, 32)}, 32, 2),
        ({"named_inputs": {"input_ids": (3, 16)}}, 16, 3),
        ({"named_inputs": {"input_ids": torch.full((2, 9), 7)}}, 9, 2),
    ],
)
def test_the_mask_follows_the_ids(bert: nn.Module, asked: dict[str, Any], length: int, batch: int) -> None:
    assert shapes(plan(bert, **asked)) == dict.fromkeys(IDS, (batch, length))


def test_optional_arguments_by_name(bert: nn.Module) -> None:
    planned = plan(bert, named_inputs={"token_type_ids": (1, 128), "output_attentions": True})
    values = planned.make().kwargs
    assert values["token_type_ids"].dtype == torch.int64 and values["output_attentions"] is True
    with pytest.raises(opscope.Error, match="no argument called 'token_type_id'") as caught:
        plan(bert, named_inputs={"token_type_id": (1, 128)})
    assert "token_type_ids" in caught.value.candidates


def test_positions_bound_the_length(bert: nn.Module) -> None:
    with pytest.raises(opscope.Error, match="takes at most 512 tokens, and seq_len is 513"):
        plan(bert, seq_len=513)
    roberta = build("RobertaModel", num_hidden_layers=1, max_position_embeddings=514)
    assert shapes(plan(roberta, seq_len=512))["input_ids"] == (1, 512)
    with pytest.raises(opscope.Error, match="takes no image"):
        plan(bert, image_size=224)


def test_both_sides_of_an_encoder_decoder() -> None:
    model = build("BartForConditionalGeneration", encoder_layers=1, decoder_layers=1)
    values = plan(model, seq_len=40).make().kwargs
    assert values["input_ids"].shape == (1, 40) and values["decoder_input_ids"].shape == (1, 32)
    assert values["decoder_input_ids"][0, 0] == model.config.decoder_start_token_id
    assert values["input_ids"][0, -1] == model.config.eos_token_id


def test_an_image_has_its_tokens_in_the_prompt() -> None:
    model = build("LlavaForConditionalGeneration")
    values = plan(model, seq_len=10, batch=2).make().kwargs
    assert int((values["input_ids"] == model.config.image_token_id).sum(1)[0]) == 576 == (336 // 14) ** 2
    assert values["input_ids"].shape == values["attention_mask"].shape == (2, 586)


def test_another_image_size_stretches_the_positions() -> None:
    model = build("ViTModel", num_hidden_layers=1)
    planned = plan(model, image_size=256)
    assert shapes(planned)["pixel_values"] == (1, 3, 256, 256)
    assert planned.make().kwargs["interpolate_pos_encoding"] is True


def test_floats_follow_the_weights() -> None:
    model = build("CLIPModel").to(torch.bfloat16)
    assert {row.name: row.dtype for row in plan(model).rows} == {
        "input_ids": "int64",
        "pixel_values": "bfloat16",
        "attention_mask": "int64",
    }


def test_a_model_without_a_forward_says_so() -> None:
    with pytest.raises(opscope.Error, match="BarkModel has no forward of its own"):
        plan(build("BarkModel"))


# --- labels and masks by name


T5, BART = ("T5ForConditionalGeneration", {"num_layers": 1}), ("BartForConditionalGeneration", {"encoder_layers": 1, "decoder_layers": 1})
WHISPER = ("WhisperForConditionalGeneration", {"encoder_layers": 1, "decoder_layers": 1})
GPT2, BERT = ("GPT2LMHeadModel", {"n_layer": 1}), ("BertForTokenClassification", {"num_hidden_layers": 1})
CLASSIFIER = ("BertForSequenceClassification", {"num_hidden_layers": 1})


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (T5, {"labels": (2, 9)}, {"input_ids": (2, 128), "decoder_input_ids": (2, 9), "labels": (2, 9)}),
        (T5, {"labels": torch.ones(2, 9, dtype=torch.int64)}, {"input_ids": (2, 128), "decoder_input_ids": (2, 9)}),
        (T5, {"decoder_input_ids": (1, 7), "decoder_attention_mask": (1, 7)}, {"decoder_input_ids": (1, 7)}),
        (T5, {"decoder_attention_mask": (1, 7)}, {"decoder_input_ids": (1, 7), "input_ids": (1, 128)}),
        (BART, {"labels": (3, 5), "input_ids": (3, 11)}, {"attention_mask": (3, 11), "decoder_input_ids": (3, 5)}),
        (WHISPER, {"labels": (2, 9)}, {"decoder_input_ids": (2, 9), "input_features": (2, 80, 3000)}),
        (GPT2, {"labels": (2, 9)}, {"input_ids": (2, 9), "attention_mask": (2, 9)}),
        (GPT2, {"attention_mask": (2, 9)}, {"input_ids": (2, 9)}),
        (BERT, {"labels": (2, 9)}, {"input_ids": (2, 9)}),
        (CLASSIFIER, {"labels": (4,)}, {"input_ids": (4, 128)}),
    ],
)
def test_labels_and_masks_fit(kind: Any, given: Any, expected: dict[str, Any], training: bool) -> None:
    model = build(kind[0], **kind[1])
    planned = shapes(plan(model, named_inputs=given))
    assert {part: planned[part] for part in expected} == expected
    profile = opscope.profile(model, named_inputs=given, training=training)
    if training and "labels" in given:
        assert any("the loss is the model's own" in note.message for note in profile.diagnostics)
