// Shape rules of recurrent layers, one op for all time steps, and of their cells.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

struct Recurrent {
  const at::Tensor* input = nullptr;
  std::int64_t steps = 0, batch = 0;
  std::int64_t directions = 1;
  bool batch_first = false;
};

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
bool read(RuleCall& call, Recurrent& r) {
  r.input = call.floats(0);
  r.batch_first = call.flag(8);
  r.directions = call.flag(7) ? 2 : 1;
  if (!r.input || r.input->dim() != 3 || r.input->numel() == 0 || !call.at(2).isTensorList()) return false;
  r.steps = r.input->size(r.batch_first ? 1 : 0);
  r.batch = r.input->size(r.batch_first ? 0 : 1);
  const auto params = call.at(2).toListRef();
  if (params.empty()) return false;
  const at::Tensor* weight = call.plain(params[0].toTensor());
  return weight && weight->dim() == 2 && weight->size(1) == r.input->size(2) &&
         weight->scalar_type() == r.input->scalar_type();
}

// The parameters of each layer and direction: two weights, two biases if any, a projection if any.
bool counts(RuleCall& call, const Recurrent& r, bool projected) {
  const std::int64_t each = (call.flag(3) ? 4 : 2) + (projected ? 1 : 0);
  return static_cast<std::int64_t>(call.at(2).toListRef().size()) == each * r.directions * call.integer(4);
}

bool is_hidden(const RuleCall& call, const Recurrent& r, const at::Tensor* hidden) {
  return hidden && hidden->dim() == 3 && hidden->size(0) == r.directions * call.integer(4) &&
         hidden->size(1) == r.batch && hidden->scalar_type() == r.input->scalar_type();
}

// All steps' outputs; made time first, and transposed where the batch is to come first.
void emit_steps(RuleCall& call, const Recurrent& r, std::int64_t features) {
  const std::int64_t width = features * r.directions;
  if (r.batch_first)
    call.output({r.batch, r.steps, width}, {width, r.batch * width, 1}, r.input->scalar_type());
  else
    call.output({r.steps, r.batch, width}, r.input->scalar_type());
}

bool lstm(RuleCall& call) {
  Recurrent r;
  if (!read(call, r) || !call.at(1).isTensorList() || call.at(1).toListRef().size() != 2) return false;
  const at::Tensor* hidden = call.plain(call.at(1).toListRef()[0].toTensor());
  const at::Tensor* cell = call.plain(call.at(1).toListRef()[1].toTensor());
  if (!is_hidden(call, r, hidden) || !is_hidden(call, r, cell)) return false;
  if (!counts(call, r, hidden->size(2) != cell->size(2))) return false;
  if (call.at(2).toListRef()[0].toTensor().size(0) != 4 * cell->size(2)) return false;
  emit_steps(call, r, hidden->size(2));
  call.output(hidden->sizes(), hidden->scalar_type());
  return call.output(cell->sizes(), cell->scalar_type());
}

template <std::int64_t kGates>
bool recurrent(RuleCall& call) {
  Recurrent r;
  const at::Tensor* hidden = call.tensor(1);
  if (!read(call, r) || !is_hidden(call, r, hidden) || !counts(call, r, false)) return false;
  if (call.at(2).toListRef()[0].toTensor().size(0) != kGates * hidden->size(2)) return false;
  emit_steps(call, r, hidden->size(2));
  return call.output(hidden->sizes(), hidden->scalar_type());
}

bool valid_cell(RuleCall& call, const at::Tensor* hidden, std::int64_t gates) {  // input, hx, w_ih, w_hh, ...
  const at::Tensor *input = call.floats(0), *weight = call.tensor(2), *recurrent_weight = call.tensor(3);
  if (!input || !hidden || !weight || !recurrent_weight) return false;
  if (input->dim() != 2 || hidden->dim() != 2 || weight->dim() != 2 || recurrent_weight->dim() != 2)
    return false;
  const std::int64_t features = hidden->size(1);
  return input->scalar_type() == weight->scalar_type() && hidden->scalar_type() == weight->scalar_type() &&
         input->size(0) == hidden->size(0) && weight->size(1) == input->size(1) &&
         weight->size(0) == gates * features && recurrent_weight->size(0) == gates * features &&
         recurrent_weight->size(1) == features;
}

bool lstm_cell(RuleCall& call) {
  if (!call.at(1).isTensorList() || call.at(1).toListRef().size() != 2) return false;
  const at::Tensor* hidden = call.plain(call.at(1).toListRef()[0].toTensor());
  const at::Tensor* cell = call.plain(call.at(1).toListRef()[1].toTensor());
  if (!valid_cell(call, hidden, 4) || !cell || cell->sizes() != hidden->sizes()) return false;
  call.output(hidden->sizes(), hidden->scalar_type());
  return call.output(hidden->sizes(), hidden->scalar_type());
}

template <std::int64_t kGates>
bool cell(RuleCall& call) {
  const at::Tensor* hidden = call.tensor(1);
  return valid_cell(call, hidden, kGates) && call.output(hidden->sizes(), hidden->scalar_type());
}

// What cuDNN keeps for the backward pass: so many numbers for each unit, step and layer, and between two
// layers what goes from one to the next. Found on an H200, cuDNN 9.19.
std::int64_t reserve_bytes(std::int64_t mode, std::int64_t layers, std::int64_t bytes_of_layer) {
  constexpr std::int64_t kKept[] = {2, 2, 6, 7};  // relu, tanh, lstm, gru
  return (kKept[mode] * layers - 1) * bytes_of_layer + 256;
}

// input, weight, weight_stride0, weight_buf, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first,
// dropout, train, bidirectional, batch_sizes, dropout_state. The weights lie in one piece of memory, as they
// do once a module is on the device: none is made.
bool cudnn_rnn(RuleCall& call) {
  const at::Tensor *input = call.floats(0), *hidden = call.tensor(4);
  const std::int64_t mode = call.integer(6);
  if (!input || !hidden || input->dim() != 3 || mode < 0 || mode > 3 || !call.ints(14).empty()) return false;
  const bool batch_first = call.flag(10);
  const std::int64_t steps = input->size(batch_first ? 1 : 0), batch = input->size(batch_first ? 0 : 1);
  const std::int64_t directions = call.flag(13) ? 2 : 1, width = hidden->size(2) * directions;
  const auto dtype = input->scalar_type();
  if (batch_first)
    call.output({batch, steps, width}, {width, batch * width, 1}, dtype);
  else
    call.output({steps, batch, width}, dtype);
  call.output(hidden->sizes(), dtype);
  if (const at::Tensor* cell = call.tensor(5))
    call.output(cell->sizes(), dtype);
  else
    call.push(at::Tensor());
  const auto bytes =
      steps * batch * call.integer(7) * directions * static_cast<std::int64_t>(input->element_size());
  call.output({call.flag(12) ? reserve_bytes(mode, call.integer(9), bytes) : 0}, at::kByte);
  return call.push(at::Tensor());
}

// input, weight, ..., hx (4), cx (5), ..., output_mask (21)
bool cudnn_rnn_backward(RuleCall& call) {
  const at::Tensor *input = call.floats(0), *hidden = call.tensor(4), *cell = call.tensor(5);
  if (!input || !hidden || !call.at(1).isTensorList()) return false;
  const auto dtype = input->scalar_type();
  call.output(input->sizes(), dtype);  // always made
  call.gradient(21, 1, hidden->sizes(), dtype);
  if (cell)
    call.gradient(21, 2, cell->sizes(), dtype);
  else
    call.push(at::Tensor());
  c10::List<at::Tensor> weights;
  for (const at::Tensor& weight : call.at(1).toTensorVector())
    weights.push_back(call.make(weight.sizes(), weight.strides(), weight.scalar_type()));
  return call.push(weights);
}

constexpr ShapeRuleRow kRecurrentRules[] = {
    {"aten::_cudnn_rnn", "", cudnn_rnn},
    {"aten::_cudnn_rnn_backward", "", cudnn_rnn_backward},
    {"aten::gru", "input", recurrent<3>},
    {"aten::gru_cell", "", cell<3>},
    {"aten::lstm", "input", lstm},
    {"aten::lstm_cell", "", lstm_cell},
    {"aten::rnn_relu aten::rnn_tanh", "input", recurrent<1>},
    {"aten::rnn_relu_cell aten::rnn_tanh_cell", "", cell<1>},
};

}  // namespace

std::span<const ShapeRuleRow> recurrent_shape_rules() { return kRecurrentRules; }

}  // namespace opscope::engine
