#include "readers/capture/graph_assembler.h"

#include <algorithm>

#include "base/text.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr std::string_view kUnnamedType = "Module";
// Deeper than any model's; a hostile file's paths stop here.
constexpr std::size_t kMostModuleDepth = 256;

std::string_view class_name(std::string_view type) {
  const auto dot = type.rfind('.');
  return dot == std::string_view::npos ? type : type.substr(dot + 1);
}

// Elements from the first to the last that a strided tensor touches, times the element's size.
Count span_bytes(const ValueSpec& spec) {
  if (!spec.strided || spec.strides.empty() || !numel(spec.shape))
    return numel(spec.shape) * Count{element_bytes(spec.dtype)};
  Count extent = Count{1} + Count{spec.offset};
  for (std::size_t i = 0; i < spec.shape.size(); ++i)
    extent += Count{spec.shape[i] - 1} * Count{spec.strides[i]};
  return extent * Count{element_bytes(spec.dtype)};
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto character = decode_utf8(text);
    out += character.valid ? text.substr(0, character.bytes) : "?";
    text.remove_prefix(character.bytes);
  }
  return out;
}

StringId GraphAssembler::keep(std::string_view text) {
  return is_utf8(text) ? graph.intern(text) : graph.intern(valid_utf8(text));
}

GraphAssembler::GraphAssembler(std::string_view model) {
  graph.capture.model = valid_utf8(model);
  graph.capture.tracer = "static";
  graph.modules.push_back({.parent = kNone, .name = 0, .path = 0, .type = keep(kUnnamedType)});
  graph.scopes.push_back({.parent = kNone, .module = 0, .call = 0});
  modules_.emplace("", 0);
  calls_.push_back(1);
}

ModuleId GraphAssembler::module(std::string_view path, std::string_view type) {
  ModuleId at = 0;
  std::size_t depth = 0;
  for (std::size_t begin = 0; begin < path.size();) {
    // Too deep: the rest of the path is one name.
    const auto dot = ++depth < kMostModuleDepth ? std::min(path.find('.', begin), path.size()) : path.size();
    const auto name = path.substr(begin, dot - begin);
    const auto [entry, is_new] = modules_.try_emplace(std::string(path.substr(0, dot)), 0);
    if (is_new) {
      entry->second = static_cast<ModuleId>(graph.modules.size());
      graph.modules.push_back(
          {.parent = at, .name = keep(name), .path = keep(path.substr(0, dot)), .type = keep(kUnnamedType)});
      calls_.push_back(0);
    }
    at = entry->second;
    begin = dot + 1;
  }
  if (!type.empty()) graph.modules[at].type = keep(class_name(type));
  return at;
}

void GraphAssembler::enter(std::span<const ModuleCall> stack) {
  ScopeId parent = 0;
  for (const auto& call : stack.first(std::min(stack.size(), kMostModuleDepth))) {
    const auto [entry, is_new] = scopes_.try_emplace(pair_key(parent, keep(call.key)), 0);
    if (is_new) {
      const auto called = module(call.path, call.type);
      entry->second = static_cast<ScopeId>(graph.scopes.size());
      graph.scopes.push_back({.parent = parent, .module = called, .call = calls_[called]++});
    }
    parent = entry->second;
  }
  scope_ = parent;
}

ValueId GraphAssembler::value(const ValueSpec& spec, ValueKind kind, ValueId alias) {
  const bool given = spec.strided && spec.strides.size() == spec.shape.size();
  Value made{.shape = graph.add_dims(spec.shape),
             .strides = graph.add_dims(given          ? spec.strides
                                       : spec.strided ? contiguous_strides(spec.shape)
                                                      : std::vector<std::int64_t>{}),
             .offset = std::max<std::int64_t>(spec.offset, 0),
             .device = keep(spec.device),
             .dtype = spec.dtype,
             .kind = kind};
  if (alias != kNone) {
    made.storage = graph.values[alias].storage;
  } else {
    made.storage = static_cast<Id>(graph.storages.size());
    graph.storages.push_back({span_bytes(spec).value()});
  }
  graph.values.push_back(made);
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId GraphAssembler::result(std::string_view op, const ValueSpec& spec, ValueId base,
                               bool drops_or_copies) {
  if (base == kNone || !shares_memory(op, spec, base, drops_or_copies))
    return value(spec, ValueKind::kActivation);
  const auto kind = graph.values[base].kind;
  const bool is_stored = is_weight(kind) || kind == ValueKind::kConstant;
  return value(spec, is_stored ? kind : ValueKind::kActivation, base);
}

bool GraphAssembler::shares_memory(std::string_view op, const ValueSpec& spec, ValueId base,
                                   bool drops_or_copies) {
  if (op.ends_with('_') && !op.ends_with("__")) return true;  // in place
  const OpRule* rule = find_rule(op);
  if (rule == nullptr) return false;
  if (facts_of(*rule).is(Fact::kReshapes))
    return !view_strides(base, spec.shape).empty() || spec.shape.empty();
  if (!facts_of(*rule).is(Fact::kMayReturnInput)) return rule->category == Category::kView;
  const auto& in = graph.values[base];
  return !drops_or_copies && in.dtype == spec.dtype && in.device == keep(spec.device) &&
         std::ranges::equal(graph.shape(in), spec.shape) &&
         std::ranges::equal(graph.strides(in), spec.strides);
}

// As PyTorch's computeStride: runs of input dimensions that lie densely in memory take runs of output
// dimensions of the same number of elements.
std::vector<std::int64_t> GraphAssembler::view_strides(ValueId id,
                                                       std::span<const std::int64_t> shape) const {
  const auto sizes = graph.shape(graph.values[id]), steps = graph.strides(graph.values[id]);
  if (steps.size() != sizes.size() || numel(sizes) != numel(shape)) return {};
  if (!numel(shape) || shape.empty() || sizes.empty()) return contiguous_strides(shape);
  std::vector<std::int64_t> strides(shape.size());
  auto view = static_cast<std::ptrdiff_t>(shape.size()) - 1;
  std::int64_t base = steps.back();
  Count run = 1, filled = 1;
  const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
  for (auto i = static_cast<std::ptrdiff_t>(sizes.size()) - 1; i >= 0; --i) {
    run *= Count{sizes[at(i)]};
    const bool ends = i == 0 || (sizes[at(i - 1)] != 1 && Count{steps[at(i - 1)]} != run * Count{base});
    if (!ends) continue;
    while (view >= 0 && (filled < run || shape[at(view)] == 1)) {
      if (__builtin_mul_overflow(static_cast<std::int64_t>(filled.value()), base, &strides[at(view)]))
        return {};
      filled *= Count{shape[at(view)]};
      --view;
    }
    if (filled != run || filled.saturated()) return {};
    if (i > 0) {
      base = steps[at(i - 1)];
      run = filled = 1;
    }
  }
  return view == -1 ? strides : std::vector<std::int64_t>{};
}

void GraphAssembler::own(std::string_view path, ValueId id) {
  const auto dot = path.rfind('.');
  const bool in_root = dot == std::string_view::npos;
  const Owned entry{.module = module(in_root ? std::string_view{} : path.substr(0, dot)),
                    .value = id,
                    .name = keep(in_root ? path : path.substr(dot + 1))};
  if (graph.values[id].name == 0) name(id, path);
  if (owned_.try_emplace(pair_key(entry.module, entry.name), id).second) graph.owned.push_back(entry);
}

void GraphAssembler::op(std::string_view name, std::string_view overload, std::span<const Argument> arguments,
                        std::span<const ValueId> outputs) {
  Op op{.target = graph.add_target(graph.text(keep(name)), overload), .scope = scope_};
  OPSCOPE_CHECK(graph.arguments.size() + arguments.size() < kNone);
  op.arguments = {static_cast<std::uint32_t>(graph.arguments.size()),
                  static_cast<std::uint32_t>(arguments.size())};
  graph.arguments.insert(graph.arguments.end(), arguments.begin(), arguments.end());
  op.outputs = graph.add_refs(outputs);
  graph.ops.push_back(op);
}

void GraphAssembler::note(std::string_view kind, std::string_view op, std::string message) {
  if (!noted_.insert(std::string(kind).append("\n").append(op).append("\n").append(message)).second) return;
  const auto& module = graph.modules[graph.scopes[scope_].module];
  graph.diagnostics.push_back(
      {std::string(kind), valid_utf8(op), std::string(graph.path(module)), valid_utf8(message)});
}

Graph GraphAssembler::finish(std::span<const ValueId> outputs, const std::string& where) {
  for (const auto id : outputs) {
    auto& value = graph.values[id];
    if (value.kind == ValueKind::kActivation) value.kind = ValueKind::kOutput;
    graph.outputs.push_back(id);
  }
  try {
    graph.verify();
  } catch (const Error& error) {
    throw Error(error.what(), where, "the file is damaged; export the model again");
  }
  return std::move(graph);
}

}  // namespace opscope
