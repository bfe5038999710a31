// The words of --quantize, and what each does to a graph.
#include "app/request/edits.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cost/quantise/quantise.h"

namespace opscope {
namespace {

constexpr std::string_view kAsPublished = "published", kAsItIs = "none";

void note(Graph& graph, std::string text) {
  graph.diagnostics.push_back({std::string(kStorageNote), "", "", std::move(text)});
}

// Frozen weights beside adapters may well be quantised.
bool is_trained_whole(const Graph& graph) {
  return !graph.phases.empty() && std::ranges::all_of(graph.values, [](const Value& value) {
    return value.kind != ValueKind::kParameter || value.trainable;
  });
}

void as_published(Graph& graph, const Quantisation& words, bool is_asked) {
  const PublishedStorage& published = graph.capture.published;
  undo_quantise(graph);
  if (published.method.empty()) {
    if (is_asked)
      note(graph, "no quantisation is published with this model: its weights are as their dtype says");
    return;
  }
  if (published.scheme.empty())
    return note(graph, "profiled without quantisation; the published weights are quantised (" +
                           published.method + "), in a form that opscope cannot price");
  if (is_trained_whole(graph))
    return note(
        graph,
        "profiled without quantisation, since weights are trained; the published ones are quantised (" +
            published.method + ")");
  Quantisation asked = words;
  asked.choice = storage_choice(published.scheme, "quantization_config");
  asked.only = published.only, asked.without = published.without, asked.published_by = published.method;
  quantise(graph, asked);
}

}  // namespace

void apply_edits(Graph& graph, const CaptureRequest& request, Voice voice) {
  Quantisation words;
  words.where = capture_field("quantize").name_for(voice);
  words.only_where = capture_field("quantize_only").name_for(voice);
  const std::string& scheme = request.quantize;
  if (scheme.empty() && is_quantised(graph)) return;  // saved with an edit
  if (scheme.empty() || scheme == kAsPublished) return as_published(graph, words, !scheme.empty());
  if (scheme == kAsItIs) {
    undo_quantise(graph);
    if (const std::string& method = graph.capture.published.method; !method.empty())
      note(graph, "profiled without quantisation; the published weights are quantised (" + method + ")");
    return;
  }
  words.choice = storage_choice(scheme, words.where);
  for (const std::string_view pattern : split_by(request.quantize_only, ','))
    if (!pattern.empty()) words.only.emplace_back(pattern);
  quantise(graph, words);
}

void refuse_edits(const CaptureRequest& request, const std::string& what) {
  for (const CaptureField& field : capture_fields())
    if (field.rules.is_edit && field.is_given(request))
      throw Error(what + " is of the model as it is", std::string(field.flag), "leave it out");
}

}  // namespace opscope
