// What a language model holds, read from its decode step: parameters that a token uses, and its caches.
#include <algorithm>
#include <map>
#include <set>

#include "analyse/llm/llm.h"
#include "analyse/profile/rollup.h"
#include "base/text.h"

namespace opscope {
namespace {

// "past_key_values.layers[5]" of "past_key_values.layers[5].keys".
std::string_view layer_of(std::string_view cache) {
  const auto dot = cache.rfind('.');
  return dot == std::string_view::npos ? cache : cache.substr(0, dot);
}

struct CacheTensor {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kUndefined;
};

// One layer's tensors. Tokens are in the last dimension but one.
LlmCacheGroup group_of(const std::vector<CacheTensor>& tensors, std::int64_t batch, std::int64_t past) {
  LlmCacheGroup group{.layers = 1};
  std::vector<std::string> wide;
  std::set<std::int64_t> heads;
  for (const auto& [shape, dtype] : tensors) {
    const Count bytes = bytes_of(dtype, numel(shape)) / Count{std::max<std::int64_t>(batch, 1)};
    if (shape.size() < 3) {
      group.sequence_bytes += bytes;
      continue;
    }
    const std::int64_t tokens = shape[shape.size() - 2];
    if (shape.size() == 4) heads.insert(shape[1]), wide.push_back(std::to_string(shape[3]));
    if (tokens == past) {
      group.token_bytes += bytes / Count{past};
    } else {
      group.sequence_bytes += bytes;
      if (shape.size() == 4 && tokens < past) group.window = tokens + 1;  // with the new one
    }
  }
  if (wide.size() == tensors.size() && heads.size() == 1) {
    const std::int64_t count = *heads.begin();
    const bool alike = std::ranges::count(wide, wide.front()) == std::ssize(wide);
    if (count == 1 && !alike)
      group.form = "latent " + join(wide, " + ");
    else
      group.form = (alike ? std::to_string(wide.size()) + " x " : "") + std::to_string(count) +
                   (count == 1 ? " head x " : " heads x ") + (alike ? wide.front() : join(wide, " + "));
  } else {
    group.form = "state";
  }
  return group;
}

void find_cache(LlmModel& model, const Graph& graph, std::int64_t batch, std::int64_t past) {
  std::vector<std::pair<std::string_view, std::vector<CacheTensor>>> layers;
  std::map<std::string_view, Count> dtypes;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    const std::string_view called = graph.text(value.name);
    const auto shape = graph.shape(value);
    if (!names_cache(called) || shape.empty() || numel(shape) <= Count{1}) continue;  // counters
    if (layers.empty() || layers.back().first != layer_of(called)) layers.push_back({layer_of(called), {}});
    layers.back().second.push_back({{shape.begin(), shape.end()}, value.dtype});
    dtypes[name(value.dtype)] += bytes_of(graph, value);
  }
  for (const auto& [layer, tensors] : layers) {
    LlmCacheGroup one = group_of(tensors, batch, past);
    const auto same = std::ranges::find_if(model.cache, [&](const LlmCacheGroup& each) {
      return each.form == one.form && each.token_bytes == one.token_bytes && each.window == one.window &&
             each.sequence_bytes == one.sequence_bytes;
    });
    if (same == model.cache.end())
      model.cache.push_back(std::move(one));
    else
      ++same->layers;
  }
  const auto most = std::ranges::max_element(dtypes, {}, [](const auto& each) { return each.second; });
  if (most != dtypes.end()) model.cache_dtype = most->first;
}

// Of the weights, those that are a hundredth of them or more; the most first.
std::string weight_dtypes(const Graph& graph) {
  std::map<std::string_view, Count> bytes;
  std::set<ValueId> seen;
  Count total{};
  for (const Owned& owned : graph.owned) {
    const Value& value = graph.values[owned.value];
    if (value.kind != ValueKind::kParameter || !seen.insert(owned.value).second) continue;
    const StoredForm* form = graph.stored_form(value);
    const std::string_view held = form ? graph.text(form->scheme) : name(value.dtype);
    bytes[held] += bytes_of(graph, value), total += bytes_of(graph, value);
  }
  std::vector<std::pair<Count, std::string_view>> sorted;
  for (const auto& [dtype, count] : bytes)
    if (count * Count{100} >= total) sorted.emplace_back(count, dtype);
  std::ranges::sort(sorted, std::greater{});
  std::vector<std::string> names;
  for (const auto& [count, dtype] : sorted) names.emplace_back(dtype);
  return join(names, " + ");
}

// Of a mixture, the experts that a token does not choose are left out.
void find_active(LlmModel& model, const Graph& graph, const Routing& routing) {
  model.active = model.parameters.total;
  const Experts experts(graph, routing);
  model.has_experts = !experts.facts().empty();
  if (!model.has_experts) return;
  model.active = experts.facts().active_parameters.value_or(model.active);
  model.active_without_embedding = experts.facts().active_without_embedding;
  for (const ExpertKind& kind : experts.facts().kinds())
    model.experts.push_back({kind.layers, kind.choice.experts.value(), kind.choice.chosen.value()});
}

}  // namespace

Count LlmModel::cache_token_bytes() const {
  Count bytes{};
  for (const LlmCacheGroup& group : cache) bytes += group.token_bytes * Count{group.layers};
  return bytes;
}

Count LlmModel::cache_sequence_bytes() const {
  Count bytes{};
  for (const LlmCacheGroup& group : cache) bytes += group.sequence_bytes * Count{group.layers};
  return bytes;
}

LlmModel llm_model(const Graph& decode, std::int64_t batch, std::int64_t past, const Routing& routing) {
  LlmModel model{.name = decode.capture.model,
                 .source = decode.capture.source,
                 .parameters = all_parameters(decode),
                 .weight_dtypes = weight_dtypes(decode),
                 .positions = static_cast<std::int64_t>(decode.capture.facts.positions),
                 .published_dtype = decode.capture.facts.published_dtype};
  find_active(model, decode, routing);
  find_cache(model, decode, batch, past);
  return model;
}

}  // namespace opscope
