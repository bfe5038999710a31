#include "torch/timing/replay_inputs.h"

#include <ATen/ops/_cudnn_rnn_flatten_weight.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "graph/signature.h"
#include "torch/engine/abstract_tensor.h"

namespace opscope::engine {

namespace {

constexpr std::size_t kMostTurns = 64;
// Of memory that torch's allocators give out, so that a tensor lies in the pool as it would lie alone.
constexpr std::int64_t kBlock = 512;
static_assert(kBlock % kAlignment == 0);

[[noreturn]] void refuse(const std::string& reason) { throw Error(reason); }

std::int64_t round_up(std::int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// Elements from the first to behind the last, of those that the strides reach.
std::int64_t span_of(const Graph& graph, const Value& value) {
  const auto shape = graph.shape(value), strides = graph.strides(value);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

std::int64_t bytes_for(const Graph& graph, const Value& value) {
  const auto item = static_cast<std::int64_t>(element_bytes(value.dtype));
  return round_up(span_of(graph, value) * item + misaligned_bytes(value));
}

// Of the host, with what the system would give up for it; nullopt where that cannot be told. Not by a stream:
// torch builds that carry a C++ library of their own crash on those that read numbers.
std::optional<std::int64_t> available_memory() {
  constexpr std::string_view kName = "MemAvailable:";
  std::array<char, 4096> text{};
  std::FILE* file = std::fopen("/proc/meminfo", "r");
  if (!file) return std::nullopt;
  const auto size = std::fread(text.data(), 1, text.size() - 1, file);
  std::fclose(file);
  const auto at = std::string_view(text.data(), size).find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtoll(text.data() + at + kName.size(), nullptr, 10) * 1024;
}

c10::TypePtr without_optional(c10::TypePtr type) {
  return type->kind() == c10::TypeKind::OptionalType ? type->castRaw<c10::OptionalType>()->getElementType()
                                                     : type;
}

// The arguments of one op, made one by one.
class CallMaker {
 public:
  CallMaker(const Graph& graph, const Op& op, WeightPool& pool, PreparedCall& made)
      : graph_(graph), op_(op), call_(graph), pool_(pool), made_(made) {
    call_.reset(op);
  }

  void make() {
    look_at_tensors();
    check_memory();
    const auto turns = turn_bytes_ == 0 ? 1 : std::min(kMostTurns, pool_.bytes() / turn_bytes_);
    const auto& schema = made_.op.schema().arguments();
    const auto given = graph_.arguments_of(op_);
    if (schema.size() != given.size()) refuse("its arguments are not those of the op that is here");
    for (turn_ = 0; turn_ < turns; ++turn_) {
      cursor_ = 0;
      Stack stack;
      for (std::size_t i = 0; i < given.size(); ++i) stack.push_back(value_for(given[i], schema[i]));
      flatten_weights(stack);
      made_.turns.push_back(std::move(stack));
      // The pool's tensors are made anew in each turn, the others are the same.
      std::erase_if(tensors_, [&](const auto& entry) { return pooled_.contains(entry.first); });
    }
  }

 private:
  // How much memory there has to be, and what comes from the pool: weights, and in the backward pass what the
  // forward pass kept, which is long out of the cache; the gradient has just been written. Where an op reads
  // more of it than fits into the cache, it is not in it the next time either.
  void look_at_tensors() {
    std::unordered_set<ValueId> seen;
    const bool is_backward = call_.name().find("backward") != std::string_view::npos;
    std::size_t position = 0;
    const Argument* list = nullptr;
    each_read(graph_, op_, [&](ValueId id, const Argument& argument) {
      position = list == &argument ? position + 1 : 0;
      list = &argument;
      if (!seen.insert(id).second) return;
      const auto& value = graph_.values[id];
      const auto bytes = bytes_for(graph_, value);
      if (is_host(value)) host_bytes_ += bytes;
      const auto data = data_for(call_, graph_.text(argument.name), position, value.dtype);
      const bool is_kept = is_backward && seen.size() > 1;
      if ((!is_lasting(value.kind) && !is_kept) || data.fill != Fill::kAround0 || bytes == 0) return;
      if (!has_random_kernels(scalar_type_of(value.dtype))) return;
      pooled_.insert(id);
      turn_bytes_ += static_cast<std::size_t>(bytes);
    });
    for (const auto id : graph_.outputs_of(op_))
      if (is_host(graph_.values[id])) host_bytes_ += bytes_for(graph_, graph_.values[id]);
    if (turn_bytes_ < pool_.cache_bytes()) return;
    pooled_.clear();
    turn_bytes_ = 0;
  }

  bool is_host(const Value& value) const { return graph_.text(value.device).starts_with("cpu"); }

  // As torch.nn's recurrent layers keep them on a GPU: in one piece of memory, in cuDNN's order. Elsewhere
  // each call would copy them there first. They leave bfloat16 as it is.
  void flatten_weights(Stack& stack) const {
    constexpr std::array kModes{"rnn_relu", "rnn_tanh", "lstm", "gru"};  // by cuDNN's numbers
    const std::string& name = made_.op.schema().name();
    const auto mode =
        std::ranges::find_if(kModes, [&](const char* each) { return name == std::string("aten::") + each; });
    const auto at = [&](const char* argument) { return made_.op.schema().argumentIndexWithName(argument); };
    const auto params = at("params"), biases = at("has_biases"), layers = at("num_layers"),
               both_ways = at("bidirectional"), first = at("batch_first");
    if (mode == kModes.end() || !params || !biases || !layers || !both_ways) return;
    std::vector<at::Tensor> weights;
    for (const at::Tensor& each : stack[static_cast<std::size_t>(*params)].toTensorVector())
      weights.push_back(each.clone());
    const auto each_has = static_cast<std::int64_t>(weights.size()) /
                          (stack[static_cast<std::size_t>(*layers)].toInt() *
                           (stack[static_cast<std::size_t>(*both_ways)].toBool() ? 2 : 1));
    if (each_has < 2 || !weights[0].is_cuda() || weights[0].scalar_type() == at::kBFloat16) return;
    const bool is_projected = each_has % 2 == 1;
    const auto hidden = weights[0].size(0) / (name == "aten::lstm" ? 4 : name == "aten::gru" ? 3 : 1);
    at::_cudnn_rnn_flatten_weight(weights, each_has, weights[0].size(1), mode - kModes.begin(), hidden,
                                  is_projected ? weights.back().size(0) : 0,
                                  stack[static_cast<std::size_t>(*layers)].toInt(),
                                  first && stack[static_cast<std::size_t>(*first)].toBool(),
                                  stack[static_cast<std::size_t>(*both_ways)].toBool());
    for (const at::Tensor& each : weights) each.requires_grad_();
    stack[static_cast<std::size_t>(*params)] = c10::List<at::Tensor>(weights);
  }

  // A system that overcommits would end the program in place of saying no.
  void check_memory() const {
    const auto available = available_memory();
    if (available && host_bytes_ > *available)
      refuse("its tensors need " + format_bytes(Count{static_cast<std::uint64_t>(host_bytes_)}) +
             " of memory, more than there is");
  }

  c10::IValue value_for(const Argument& given, const c10::Argument& schema) {
    const auto type = without_optional(schema.type());
    name_ = graph_.text(given.name);
    const auto* alias = schema.alias_info();
    // Norms update their running statistics in training, and their schemas are silent about it.
    overwrites_ = alias && alias->isWrite();
    written_ = overwrites_ || name_ == "running_mean" || name_ == "running_var";
    switch (type->kind()) {
      case c10::TypeKind::TensorType:
        return tensor_argument(given, schema.type()->kind() == c10::TypeKind::OptionalType);
      case c10::TypeKind::ListType:
        return list(given, type->castRaw<c10::ListType>()->getElementType());
      case c10::TypeKind::GeneratorType:
        return {};  // torch's own
      case c10::TypeKind::ClassType:
        refuse("it takes a weight in a packed form of its own");
      default:
        return given.kind == ArgumentKind::kNone ? c10::IValue() : scalar(given, schema, type->kind());
    }
  }

  [[noreturn]] void refuse_argument() const {
    refuse("the capture does not keep its argument " + std::string(name_));
  }

  c10::IValue scalar(const Argument& given, const c10::Argument& schema, c10::TypeKind type) {
    switch (given.kind) {
      case ArgumentKind::kInt:
        return type == c10::TypeKind::FloatType ? c10::IValue(static_cast<double>(given.integer))
                                                : c10::IValue(given.integer);
      case ArgumentKind::kFloat:
        return given.real;
      case ArgumentKind::kBool:
        return given.integer != 0;
      case ArgumentKind::kDType:
        return static_cast<std::int64_t>(scalar_type_of(static_cast<DType>(given.integer)));
      case ArgumentKind::kString:
        return from_text(graph_.text(static_cast<StringId>(given.integer)),
                         without_optional(schema.real_type())->kind());
      default:
        refuse_argument();
    }
  }

  c10::IValue from_text(std::string_view text, c10::TypeKind type) const {
    switch (type) {
      case c10::TypeKind::StringType:
        return std::string(text);
      case c10::TypeKind::DeviceObjType:
        return c10::Device(std::string(text));
      case c10::TypeKind::LayoutType:
        if (text == "Strided") return static_cast<std::int64_t>(c10::Layout::Strided);
        break;
      case c10::TypeKind::MemoryFormatType:
        if (text == "contiguous") return static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
        if (text == "preserve") return static_cast<std::int64_t>(at::MemoryFormat::Preserve);
        if (text == "channels_last") return static_cast<std::int64_t>(at::MemoryFormat::ChannelsLast);
        if (text == "channels_last_3d") return static_cast<std::int64_t>(at::MemoryFormat::ChannelsLast3d);
        break;
      default:
        break;
    }
    refuse_argument();
  }

  c10::IValue tensor_argument(const Argument& given, bool optional) {
    switch (given.kind) {
      case ArgumentKind::kNone:
        return optional ? c10::IValue() : c10::IValue(at::Tensor());
      case ArgumentKind::kTensor:
        return tensor(static_cast<ValueId>(given.integer), 0);
      case ArgumentKind::kInt:
        return wrapped(given.integer);
      case ArgumentKind::kFloat:
        return wrapped(given.real);
      case ArgumentKind::kBool:
        return wrapped(given.integer != 0);
      default:
        refuse_argument();
    }
  }

  // A Python number in a tensor's place.
  static at::Tensor wrapped(const at::Scalar& number) {
    auto made = at::scalar_to_tensor(number);
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
    return made;
  }

  c10::IValue list(const Argument& given, const c10::TypePtr& element) {
    const bool of_scalars = element->kind() == c10::TypeKind::NumberType;
    const auto numbers = [&](auto items) {
      return of_scalars ? scalars(items) : c10::IValue(std::vector(items.begin(), items.end()));
    };
    switch (given.kind) {
      case ArgumentKind::kNone:
        return {};
      case ArgumentKind::kTensorList:
        return tensor_list(given, element->kind() == c10::TypeKind::OptionalType);
      case ArgumentKind::kIntList:
        return numbers(graph_.ints_in(given));
      case ArgumentKind::kFloatList:
        return numbers(graph_.reals_in(given));
      case ArgumentKind::kBoolList: {
        c10::List<bool> items;
        for (const auto item : graph_.ints_in(given)) items.push_back(item != 0);
        return items;
      }
      default:
        if (!of_scalars) refuse_argument();
        // One for each tensor; which, does not matter to time.
        return scalars(std::vector<double>(first_list_, 1.0));
    }
  }

  static c10::IValue scalars(const auto& numbers) {
    c10::List<at::Scalar> items;
    for (const auto number : numbers) items.push_back(at::Scalar(number));
    return items;
  }

  c10::IValue tensor_list(const Argument& given, bool optional) {
    const auto ids = graph_.values_in(given);
    if (first_list_ == 0) first_list_ = ids.size();
    c10::List<at::Tensor> tensors;
    c10::List<std::optional<at::Tensor>> maybe;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto made = ids[i] == kNone ? at::Tensor() : tensor(ids[i], i);
      if (!optional)
        tensors.push_back(made);
      else
        maybe.push_back(made.defined() ? std::optional(made) : std::nullopt);
    }
    return optional ? c10::IValue(maybe) : c10::IValue(tensors);
  }

  at::Tensor tensor(ValueId id, std::size_t position) {
    if (const auto known = tensors_.find(id); known != tensors_.end()) return known->second;
    const auto& value = graph_.values[id];
    auto result = pooled_.contains(id) ? from_pool(value) : own(value, position);
    // Where a weight is one that could be trained, a product of a matrix and a batch runs as one product, not
    // as many. A view of the pool would say no for its transpose.
    if (value.kind == ValueKind::kParameter && at::isFloatingType(result.scalar_type()))
      result = result.variable_data().set_requires_grad(true);
    tensors_.emplace(id, result);
    return result;
  }

  at::Tensor placed(const at::Tensor& memory, const Value& value, std::int64_t byte) const {
    const auto item = static_cast<std::int64_t>(element_bytes(value.dtype));
    const auto shape = graph_.shape(value), strides = graph_.strides(value);
    return memory.as_strided({shape.data(), shape.size()}, {strides.data(), strides.size()},
                             (byte + misaligned_bytes(value)) / item);
  }

  at::Tensor from_pool(const Value& value) {
    made_.writes_pool |= overwrites_;  // running statistics stay what they are: numbers of that size
    const auto memory = pool_.numbers(device_of(value), scalar_type_of(value.dtype));
    const auto begin = static_cast<std::int64_t>(turn_ * turn_bytes_) + cursor_;
    cursor_ += bytes_for(graph_, value);
    return placed(memory, value, begin);
  }

  at::Tensor own(const Value& value, std::size_t position) {
    const auto item = static_cast<std::int64_t>(element_bytes(value.dtype));
    const auto options = at::TensorOptions().dtype(scalar_type_of(value.dtype)).device(device_of(value));
    const auto memory = at::empty({span_of(graph_, value) + misaligned_bytes(value) / item}, options);
    fill_with(memory, data_for(call_, name_, position, value.dtype));
    if (written_) made_.written.push_back({memory, memory.clone()});
    return placed(memory, value, 0);
  }

  c10::Device device_of(const Value& value) const {
    // Numbers of random streams that the memory-efficient kernels read on the host.
    if (name_.starts_with("philox_") && call_.name().find("efficient_attention") != std::string_view::npos)
      return c10::kCPU;
    return c10::Device(std::string(graph_.text(value.device)));
  }

  const Graph& graph_;
  const Op& op_;
  OpCall call_;
  WeightPool& pool_;
  PreparedCall& made_;
  std::unordered_map<ValueId, at::Tensor> tensors_;
  std::unordered_set<ValueId> pooled_;
  std::int64_t host_bytes_ = 0;
  std::size_t turn_bytes_ = 0, turn_ = 0, first_list_ = 0;
  std::int64_t cursor_ = 0;
  // Of the argument that is being made.
  std::string_view name_;
  bool written_ = false, overwrites_ = false;
};

}  // namespace

at::Tensor WeightPool::numbers(c10::Device device, at::ScalarType type) {
  auto& slot = numbers_[{device.type(), type}];
  if (!slot.defined()) {
    const auto count = static_cast<std::int64_t>(bytes_ / c10::elementSize(type));
    slot = at::empty({count}, at::TensorOptions().dtype(type).device(device));
    fill_with(slot, Data{});
  }
  return slot;
}

at::ScalarType scalar_type_of(DType type) {
  for (std::int8_t i = 0; i < static_cast<std::int8_t>(at::ScalarType::NumOptions); ++i) {
    const auto candidate = static_cast<at::ScalarType>(i);
    if (candidate != at::ScalarType::Undefined && dtype_of(candidate) == type) return candidate;
  }
  refuse("torch has no numbers of type " + std::string(name(type)));
}

PreparedCall prepare_call(const Graph& graph, const Op& op, WeightPool& pool) {
  const auto& target = graph.targets[op.target];
  const c10::OperatorName name(std::string(graph.text(target.name)),
                               std::string(graph.text(target.overload)));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) refuse("this torch has no such op");
  PreparedCall made{*handle, {}, {}, false};
  CallMaker(graph, op, pool, made).make();
  return made;
}

}  // namespace opscope::engine
