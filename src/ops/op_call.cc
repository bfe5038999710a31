// Fills an OpCall from the graph's pools. Runs once per op of every graph, so nothing here allocates once the
// buffers have grown to the widest op.
#include "ops/op_call.h"

#include <algorithm>
#include <cmath>

namespace opscope {
namespace {

TensorView view_of(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  const auto shape = graph.shape(value);
  const SparseForm* form = graph.sparse_form(value);
  const StoredForm* stored = graph.stored_form(value);
  return {.shape = shape,
          .strides = graph.strides(value),
          .numel = form != nullptr ? Count{form->stored} : numel(shape),
          .index_bytes = form != nullptr ? Count{form->index_bytes} : Count{},
          .storage = value.storage,
          .value = id,
          .dtype = value.dtype,
          .kind = value.kind,
          .is_sparse = form != nullptr,
          .is_stored = stored != nullptr,
          .back_flops = stored != nullptr ? stored->flops : 0,
          .stored_bytes = stored != nullptr ? Count{stored->bytes} : Count{}};
}

// "out", "out0", "out1": where an out= overload writes; read by no op.
bool is_out_argument(std::string_view name) {
  return name.starts_with("out") && name.size() <= 4 &&
         (name.size() == 3 || (name[3] >= '0' && name[3] <= '9'));
}

}  // namespace

std::int64_t TensorView::dim(std::int64_t i) const {
  const auto size = static_cast<std::int64_t>(shape.size());
  if (i < 0) i += size;
  return i >= 0 && i < size ? shape[static_cast<std::size_t>(i)] : 1;
}

Count TensorView::distinct_bytes() const {
  if (strides.size() != shape.size() || !numel) return bytes();
  Count elements = 1, extent = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] != 0) elements *= Count{shape[i]};
    extent += Count{shape[i] - 1} * Count{strides[i]};
  }
  return bytes_of_part(std::min({elements, extent, numel}));
}

void OpCall::add_input(ValueId id) {
  if (id == kNone) return;
  input_buffer_.push_back(view_of(*graph_, id));
  input_buffer_.back().repeated = seen_[id] == serial_;
  seen_[id] = serial_;
}

void OpCall::reset(const Op& op) {
  op_ = &op;
  if (seen_.size() != graph_->values.size() || ++serial_ == 0) {
    seen_.assign(graph_->values.size(), 0);
    serial_ = 1;
  }
  input_buffer_.clear();
  output_buffer_.clear();
  inputs_of_argument_.clear();
  const bool has_out = overload().ends_with("out");
  for (const Argument& argument : graph_->arguments_of(op)) {
    const auto begin = static_cast<std::uint32_t>(input_buffer_.size());
    if (has_out && is_out_argument(graph_->text(argument.name))) {
    } else if (argument.kind == ArgumentKind::kTensor) {
      add_input(static_cast<ValueId>(argument.integer));
    } else if (argument.kind == ArgumentKind::kTensorList) {
      for (const ValueId id : graph_->values_in(argument)) add_input(id);
    }
    inputs_of_argument_.push_back({begin, static_cast<std::uint32_t>(input_buffer_.size()) - begin});
  }
  for (const ValueId id : graph_->outputs_of(op))
    if (id != kNone) output_buffer_.push_back(view_of(*graph_, id));
  inputs = input_buffer_;
  outputs = output_buffer_;
}

std::string_view OpCall::name() const { return graph_->op_name(*op_); }
std::string_view OpCall::overload() const { return graph_->text(graph_->targets[op_->target].overload); }
std::span<const Argument> OpCall::arguments() const { return graph_->arguments_of(*op_); }

const Argument& OpCall::find(std::string_view argument) const {
  static constexpr Argument kAbsent{};
  for (const Argument& candidate : arguments())
    if (graph_->text(candidate.name) == argument) return candidate;
  return kAbsent;
}

std::span<const TensorView> OpCall::tensors(std::string_view argument) const {
  const Argument& found = find(argument);
  if (found.kind == ArgumentKind::kNone) return {};
  const Range range = inputs_of_argument_[static_cast<std::size_t>(&found - arguments().data())];
  return inputs.subspan(range.begin, range.size);
}

const TensorView* OpCall::tensor(std::string_view argument) const {
  const auto found = tensors(argument);
  return found.empty() ? nullptr : found.data();
}

std::optional<std::int64_t> OpCall::integer(std::string_view argument) const {
  const Argument& found = find(argument);
  if (found.kind == ArgumentKind::kInt || found.kind == ArgumentKind::kBool) return found.integer;
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a double is not a known integer
  if (found.kind == ArgumentKind::kFloat && std::abs(found.real) <= kExact &&
      std::trunc(found.real) == found.real)
    return static_cast<std::int64_t>(found.real);
  return std::nullopt;
}

std::optional<double> OpCall::real(std::string_view argument) const {
  const Argument& found = find(argument);
  if (found.kind == ArgumentKind::kFloat) return found.real;
  if (found.kind == ArgumentKind::kInt || found.kind == ArgumentKind::kBool)
    return static_cast<double>(found.integer);
  return std::nullopt;
}

std::optional<bool> OpCall::boolean(std::string_view argument) const {
  const Argument& found = find(argument);
  if (found.kind != ArgumentKind::kBool && found.kind != ArgumentKind::kInt) return std::nullopt;
  return found.integer != 0;
}

std::span<const std::int64_t> OpCall::ints(std::string_view argument) const {
  const Argument& found = find(argument);
  const bool is_list = found.kind == ArgumentKind::kIntList || found.kind == ArgumentKind::kBoolList;
  return is_list ? graph_->ints_in(found) : std::span<const std::int64_t>{};
}

std::string_view OpCall::string(std::string_view argument) const {
  const Argument& found = find(argument);
  return found.kind == ArgumentKind::kString ? graph_->text(static_cast<StringId>(found.integer)) : "";
}

bool OpCall::has(std::string_view argument) const { return find(argument).kind != ArgumentKind::kNone; }

}  // namespace opscope
