// `opscope llm` as a use case: the request as a question, and steps of it as captures.
#include <algorithm>
#include <array>

#include "app/cases/question.h"
#include "base/error.h"

namespace opscope {
namespace {

std::string name_for(Voice voice, const char* flag) {
  return voice == Voice::kFlags ? std::string("--") + flag : std::string(flag);
}

LlmQuestion question_of(const LlmRequest& request) {
  LlmQuestion question{.devices = request.devices, .reserve = request.reserve, .plot = request.plot};
  if (!request.mode_is_given)
    for (ProfileOptions& each : question.devices) each.mode = RunMode::kGraph;
  const auto name = [&](const char* flag) { return name_for(request.voice, flag); };
  question.prompt_is_given = !request.prompt.empty();
  if (question.prompt_is_given) question.prompt = parse_integer(name("prompt"), request.prompt, 1);
  if (!request.generate.empty()) question.generate = parse_integer(name("generate"), request.generate, 1);
  question.routing = routing_from_text(request.routing, name("routing"));
  if (!request.batches.empty()) question.batches = parse_value_list(name("batch").c_str(), request.batches);
  return question;
}

constexpr std::array kOfDecode{"kv_cache", "kv_capacity", "kv_dtype", "kv_block"};

// Of its cache, which is asked for with the phase of a decode step.
bool asks_for_cache(const CaptureRequest& model) {
  return std::ranges::any_of(kOfDecode, [&](const char* key) { return capture_field(key).is_given(model); });
}

// What decides the steps is not asked for beside them.
void refuse_steps(CaptureRequest model, Voice voice) {
  if (asks_for_cache(model)) model.phase.clear();
  for (const char* key : {"batch", "seq_len", "past_len", "phase", "last_logits", "input_shape", "inputs",
                          "image_size", "training", "dims"})
    if (capture_field(key).is_given(model))
      throw Error("the steps of a language model have their own sizes", capture_field(key).name_for(voice),
                  voice == Voice::kFlags ? "--prompt, --generate and --batch say them"
                                         : "prompt, generate and batch say them");
}

// The phases are our own: who asked for this page named none.
void throw_first_problem(const PointSource& source) {
  try {
    source.throw_first_problem();
  } catch (const Error& error) {
    if (error.where() != "--phase" && error.where() != "phase") throw;
    throw Error(error.what(), "", "name a class that generates, such as one ...ForCausalLM");
  }
}

// The published weights, and the step of the phase.
CaptureRequest step_of(const CaptureRequest& model, LlmPhase phase, std::int64_t batch, std::int64_t tokens) {
  CaptureRequest request = model;
  request.batch = batch, request.phase = name(phase);
  if (phase == LlmPhase::kPrefill) {
    request.seq_len = tokens, request.last_logits = true;
    request.kv_cache.clear(), request.kv_dtype.clear(), request.kv_capacity.reset(), request.kv_block.reset();
  }
  if (phase == LlmPhase::kDecode) request.past_len = tokens;
  return request;
}

}  // namespace

LlmAnswer ask_llm(const LlmRequest& request, PointSource& source) {
  refuse_steps(request.model, request.voice);
  CaptureRequest model =
      request.devices.empty() ? request.model : on_hardware(request.model, request.devices.front());
  if (model.dtype.empty()) model.dtype = "published";
  const LlmCapture capture = [&](LlmPhase phase, std::int64_t batch, std::int64_t tokens,
                                 const LlmGive& give) {
    const CaptureRequest step = step_of(model, phase, batch, tokens);
    source.capture(model, std::span(&step, 1),
                   [&](std::size_t, const Graph* graph, const std::string& why) { give(graph, why); });
  };
  auto answer = ask_llm(question_of(request), capture);
  if (!answer) throw_first_problem(source);
  OPSCOPE_CHECK(answer.has_value());
  return *std::move(answer);
}

}  // namespace opscope
