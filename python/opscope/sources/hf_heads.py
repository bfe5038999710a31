"""Which class of transformers a config is built as: by its name, by task, by what the config says."""

from __future__ import annotations

import importlib
from typing import Any

from opscope._load import native
from opscope.errors import error

# Pipeline task -> the Auto mappings that may hold its class, the first that knows the model type wins.
TASKS: dict[str, tuple[str, ...]] = {
    "audio-classification": ("MODEL_FOR_AUDIO_CLASSIFICATION",),
    "audio-frame-classification": ("MODEL_FOR_AUDIO_FRAME_CLASSIFICATION",),
    "audio-xvector": ("MODEL_FOR_AUDIO_XVECTOR",),
    "automatic-speech-recognition": (
        "MODEL_FOR_SPEECH_SEQ_2_SEQ",
        "MODEL_FOR_CTC",
        "MODEL_FOR_RNNT",
        "MODEL_FOR_TDT",
    ),
    "backbone": ("MODEL_FOR_BACKBONE",),
    "depth-estimation": ("MODEL_FOR_DEPTH_ESTIMATION",),
    "document-question-answering": ("MODEL_FOR_DOCUMENT_QUESTION_ANSWERING",),
    "feature-extraction": ("MODEL",),
    "fill-mask": ("MODEL_FOR_MASKED_LM",),
    "image-classification": ("MODEL_FOR_IMAGE_CLASSIFICATION",),
    "image-segmentation": (
        "MODEL_FOR_SEMANTIC_SEGMENTATION",
        "MODEL_FOR_UNIVERSAL_SEGMENTATION",
        "MODEL_FOR_INSTANCE_SEGMENTATION",
        "MODEL_FOR_IMAGE_SEGMENTATION",
    ),
    "image-text-to-text": ("MODEL_FOR_IMAGE_TEXT_TO_TEXT", "MODEL_FOR_MULTIMODAL_LM"),
    "image-to-image": ("MODEL_FOR_IMAGE_TO_IMAGE",),
    "keypoint-detection": ("MODEL_FOR_KEYPOINT_DETECTION",),
    "keypoint-matching": ("MODEL_FOR_KEYPOINT_MATCHING",),
    "mask-generation": ("MODEL_FOR_MASK_GENERATION",),
    "masked-image-modeling": ("MODEL_FOR_MASKED_IMAGE_MODELING",),
    "multiple-choice": ("MODEL_FOR_MULTIPLE_CHOICE",),
    "next-sentence-prediction": ("MODEL_FOR_NEXT_SENTENCE_PREDICTION",),
    "object-detection": ("MODEL_FOR_OBJECT_DETECTION",),
    "pretraining": ("MODEL_FOR_PRETRAINING",),
    "question-answering": ("MODEL_FOR_QUESTION_ANSWERING",),
    "summarization": ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",),
    "table-question-answering": ("MODEL_FOR_TABLE_QUESTION_ANSWERING",),
    "text-classification": ("MODEL_FOR_SEQUENCE_CLASSIFICATION",),
    "text-generation": ("MODEL_FOR_CAUSAL_LM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM"),
    "text-to-audio": ("MODEL_FOR_TEXT_TO_WAVEFORM", "MODEL_FOR_TEXT_TO_SPECTROGRAM"),
    "text2text-generation": ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",),
    "time-series-prediction": ("MODEL_FOR_TIME_SERIES_PREDICTION",),
    "token-classification": ("MODEL_FOR_TOKEN_CLASSIFICATION",),
    "translation": ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",),
    "video-classification": ("MODEL_FOR_VIDEO_CLASSIFICATION",),
    "visual-question-answering": ("MODEL_FOR_VISUAL_QUESTION_ANSWERING", "MODEL_FOR_IMAGE_TEXT_TO_TEXT"),
    "zero-shot-image-classification": ("MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION",),
    "zero-shot-object-detection": ("MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION",),
}

_ALIASES = {
    "asr": "automatic-speech-recognition",
    "image-feature-extraction": "feature-extraction",
    "ner": "token-classification",
    "sentiment-analysis": "text-classification",
    "text-to-speech": "text-to-audio",
}


def class_for_task(model_type: str, task: str) -> str:
    """The name of the class that does this task for this type of model."""
    task = _ALIASES.get(task, task)
    if task not in TASKS:
        near = list(native.nearest(task, [*TASKS, *_ALIASES]))
        raise error(f"no task called '{task}'", "task", f"{model_type} models do {_listed(tasks_of(model_type))}", near)
    found = _in_mappings(model_type, TASKS[task])
    if found is None:
        raise error(
            f"transformers has no {model_type} model for '{task}'",
            "task",
            f"{model_type} models do {_listed(tasks_of(model_type))}",
        )
    return found


def tasks_of(model_type: str) -> list[str]:
    return [task for task, mappings in TASKS.items() if _in_mappings(model_type, mappings)]


def default_class(model_type: str, architectures: list[str]) -> str | None:
    """What the config's `architectures` says where transformers has that class, else the bare model."""
    import transformers

    named = [name for name in architectures if hasattr(transformers, name)]
    return named[0] if named else _in_mappings(model_type, ("MODEL",))


def class_named(name: str, model_type: str) -> Any:
    """The class itself; importing it imports its one modeling module."""
    import transformers

    found = getattr(transformers, name, None)
    if isinstance(found, type) and hasattr(found, "config_class"):
        return found
    classes = classes_of(model_type)
    near = list(native.nearest(name, classes))
    raise error(f"transformers has no model class called '{name}'", "", f"{model_type} has {_listed(classes)}", near)


def classes_of(model_type: str) -> list[str]:
    """Every class that an Auto mapping names for this type of model."""
    mappings = [getattr(_auto(), name) for name in dir(_auto()) if name.endswith("_MAPPING_NAMES")]
    names = {name for mapping in mappings for name in _names(mapping.get(model_type))}
    return sorted(name for name in names if not name.endswith("Config"))


def detects_objects(class_name: str) -> bool:
    mapping = _auto().MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES
    return any(class_name in _names(value) for value in mapping.values())


def _in_mappings(model_type: str, mappings: tuple[str, ...]) -> str | None:
    for mapping in mappings:
        names = _names(getattr(_auto(), f"{mapping}_MAPPING_NAMES", {}).get(model_type))
        if names:
            return names[0]
    return None


def _names(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _auto() -> Any:
    return importlib.import_module("transformers.models.auto.modeling_auto")


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "nothing that transformers names"
