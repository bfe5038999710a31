// Ops of ONNX's domains for previews and for training. A Gradient is the derivative of whatever the graph
// holds between two names: it has no work of its own that could be told from the node.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

// The learning rate and the count of steps, then so many lists, each a tensor for each parameter: values,
// gradients and the state, of which all but the gradients come out again.
struct Lists {
  std::vector<std::vector<ValueId>> all;
  std::vector<OnnxOutput> outputs;
};

std::optional<Lists> lists_of(OnnxCall& call, std::size_t lists) {
  const auto count = call.input_count() - std::min<std::size_t>(call.input_count(), 2);
  if (count == 0 || count % lists != 0 || !call.has_first(call.input_count())) return std::nullopt;
  const auto each = count / lists;
  if (call.node().outputs.size() != each * (lists - 1)) return std::nullopt;
  Lists found;
  for (std::size_t list = 0; list < lists; ++list) {
    auto& ids = found.all.emplace_back();
    for (std::size_t i = 0; i < each; ++i) {
      const auto input = 2 + list * each + i;
      ids.push_back(call.value(input));
      if (list != 1) found.outputs.push_back(call.like(input));
    }
  }
  return found;
}

template <std::size_t kLists>
bool optimise(OnnxCall& call, std::string_view aten) {
  constexpr std::string_view kState[] = {"exp_avgs", "exp_avg_sqs"};
  const auto found = lists_of(call, kLists);
  if (!found) return false;
  std::vector<Argument> arguments{call.tensors("self", found->all[0]), call.tensors("grads", found->all[1])};
  for (std::size_t i = 2; i < kLists; ++i) arguments.push_back(call.tensors(kState[i - 2], found->all[i]));
  arguments.push_back(call.real_number("weight_decay", call.real("norm_coefficient", 0)));
  if (call.node().op_type == "Momentum") {
    arguments.push_back(call.real_number("momentum", call.real("alpha", 0.9)));
    arguments.push_back(call.flag("nesterov", call.text("mode", "standard") == "nesterov"));
  }
  const auto made = call.op(aten, arguments, found->outputs);
  for (std::size_t i = 0; i < made.size(); ++i) call.result(i, made[i]);
  return true;
}

constexpr auto kPreviewRules = std::to_array<OnnxRule>({
    {"Adagrad", optimise<3>, "aten::_fused_adagrad", 2},
    {"Adam", optimise<4>, "aten::_fused_adam", 2},
    {"FlexAttention", flex_attention, "aten::scaled_dot_product_attention", 3},
    {"Momentum", optimise<3>, "aten::_fused_sgd", 2},
});
static_assert(std::ranges::is_sorted(kPreviewRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_preview_rules() { return kPreviewRules; }

}  // namespace opscope
