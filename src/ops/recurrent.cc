// Recurrent layers, whole: t tokens (steps times batch, each layer and direction) meet every weight matrix
// once, w weight elements in all. h hidden units over all layers and directions, c flops for each: the
// biases' adds, the two halves of each gate added, the gates' functions and the state's update.
#include <array>

#include "ops/rules.h"

namespace opscope {
namespace {

// Per hidden unit and token, biases left out. A sigmoid is 3 flops and an exp.
struct Cell {
  unsigned gates, flops, specials;
};
constexpr Cell kRelu{1, 2, 0};   // add, compare
constexpr Cell kTanh{1, 1, 1};   // add
constexpr Cell kLstm{4, 17, 5};  // 4 adds, 3 sigmoids, f*c + i*g, o*tanh(c)
constexpr Cell kGru{3, 13, 3};   // 2 adds, 2 sigmoids, i + r*h, n + z*(h - n)

struct Layer {
  Count tokens = {}, weights = {}, biases = {}, hidden = {};
};
using MaybeLayer = std::optional<Layer>;

Count tokens_in(const TensorView& x) { return x.numel / Count{x.dim(-1)}; }

// w_ih, w_hh, biases and projections of all layers and directions, in a flat list: matrices multiply, vectors
// add. Every second matrix is a w_ih; a projection has fewer rows than its gates.
MaybeLayer layer_of(const TensorView* x, std::span<const TensorView> params, Count directions,
                    unsigned gates) {
  if (x == nullptr || x->rank() < 2 || params.size() < 2 || !directions) return std::nullopt;
  Layer layer{.tokens = tokens_in(*x)};
  for (const TensorView& p : params) {
    if (p.rank() == 2) layer.weights += p.numel;
    if (p.rank() == 1) layer.biases += p.numel;
  }
  const Count per_direction = Count{params.size()} / directions;
  if (!per_direction) return std::nullopt;
  for (std::size_t i = 0; i < params.size(); i += per_direction.value())
    layer.hidden += Count{params[i].dim(0)} / gates;
  return layer;
}

std::optional<Work> work_of(const MaybeLayer& layer, const Cell& cell) {
  if (!layer) return std::nullopt;
  return Work{.macs = layer->tokens * layer->weights,
              .other_flops = layer->tokens * (layer->biases + layer->hidden * cell.flops),
              .specials = layer->tokens * layer->hidden * cell.specials};
}

MaybeLayer stacked(const OpCall& call, unsigned gates) {
  const TensorView* x = either(call, "input", "data");
  const Count layers = call.integer("num_layers").value_or(1);
  const Count directions = call.boolean("bidirectional").value_or(false) ? 2 : 1;
  return layer_of(x, call.tensors(call.has("params") ? "params" : "weight"), layers * directions, gates);
}

MaybeLayer single(const OpCall& call, unsigned gates) {
  const TensorView *x = call.tensor("input"), *ih = call.tensor("w_ih"), *hh = call.tensor("w_hh");
  if (x == nullptr || ih == nullptr || hh == nullptr || x->rank() == 0) return std::nullopt;
  if (ih->rank() != 2 || hh->rank() != 2 || ih->dim(1) != x->dim(-1)) return std::nullopt;
  Layer layer{.tokens = tokens_in(*x), .weights = ih->numel + hh->numel, .hidden = Count{ih->dim(0)} / gates};
  for (const std::string_view bias : {"b_ih", "b_hh"})
    if (const TensorView* b = call.tensor(bias)) layer.biases += b->numel;
  return layer;
}

// Packed weights show nothing but the sizes of what they multiply: the input, and a state for each layer and
// direction.
MaybeLayer quantised(const OpCall& call, unsigned gates) {
  const TensorView* x = either(call, "input", "data");
  const auto states = call.tensors("hx");
  const Count layers = call.integer("num_layers").value_or(1);
  const Count directions = call.boolean("bidirectional").value_or(false) ? 2 : 1;
  if (x == nullptr || x->rank() < 2 || states.empty() || states[0].rank() < 2 || !layers) return std::nullopt;
  const Count h = states[0].dim(-1), rows = directions * h * gates;
  Layer layer{.tokens = tokens_in(*x), .hidden = layers * directions * h};
  layer.weights = rows * (Count{x->dim(-1)} + h) + (layers - 1) * rows * (directions * h + h);
  if (call.boolean("has_biases").value_or(false)) layer.biases = layers * rows * 2;
  return layer;
}

// A byte for each weight, or two of half precision; biases are floats.
template <const Cell& kCell>
MaybeTraffic quantised_traffic(const OpCall& call) {
  const auto layer = quantised(call, kCell.gates);
  if (!layer) return std::nullopt;
  const bool is_half = std::ranges::any_of(call.arguments(), [](const Argument& argument) {
    return argument.kind == ArgumentKind::kDType &&
           argument.integer == static_cast<std::int64_t>(DType::kFloat16);
  });
  Traffic traffic = default_traffic(call);
  traffic.weight_bytes = layer->weights * (is_half ? 2 : 1) + layer->biases * 4;
  return traffic;
}

template <MaybeLayer kRead(const OpCall&, unsigned), const Cell& kCell>
MaybeWork layer_work(const OpCall& call) {
  return work_of(kRead(call, kCell.gates), kCell);
}

// cuDNN's and oneDNN's modes: relu, tanh, lstm, gru.
const Cell* cell_of_mode(const OpCall& call) {
  static constexpr const Cell* kModes[] = {&kRelu, &kTanh, &kLstm, &kGru};
  const auto mode = call.integer("mode").value_or(-1);
  return mode >= 0 && mode < 4 ? kModes[mode] : nullptr;
}

MaybeWork cudnn_rnn(const OpCall& call) {
  const Cell* cell = cell_of_mode(call);
  return cell != nullptr ? work_of(stacked(call, cell->gates), *cell) : std::nullopt;
}

// The weights of a layer, then its biases, under the names that a call gives them.
using Names = std::array<std::string_view, 4>;
constexpr Names kForwardNames{"weight0", "weight1", "weight2", "weight3"};
constexpr Names kBackwardNames{"weight1", "weight2", "weight3", "weight4"};

template <const Names& kNames>
MaybeWork mkldnn_layer(const OpCall& call) {
  const Cell* cell = cell_of_mode(call);
  const TensorView *x = call.tensor("input"), *ih = call.tensor(kNames[0]), *hh = call.tensor(kNames[1]);
  if (cell == nullptr || x == nullptr || ih == nullptr || hh == nullptr || x->rank() < 2) return std::nullopt;
  Layer layer{
      .tokens = tokens_in(*x), .weights = ih->numel + hh->numel, .hidden = Count{ih->dim(0)} / cell->gates};
  if (call.boolean("has_biases").value_or(false))
    for (const auto bias : {kNames[2], kNames[3]})
      if (const TensorView* b = call.tensor(bias)) layer.biases += b->numel;
  return work_of(layer, *cell);
}

// Each product has two gradients of its size; so is the rest taken.
template <WorkFunction kForward>
MaybeWork twice(const OpCall& call) {
  auto work = kForward(call);
  if (work) *work = {.macs = work->macs * 2, .other_flops = work->other_flops * 2, .specials = {}};
  return work;
}

// The pointwise part of a cell, whose two products came before it.
template <const Cell& kCell>
MaybeWork fused_cell(const OpCall& call) {
  const TensorView* gates = call.tensor("input_gates");
  if (gates == nullptr) return std::nullopt;
  const Count units = gates->numel / kCell.gates, biases = call.tensor("input_bias") != nullptr ? 2 : 0;
  return Work{.other_flops = units * kCell.flops + gates->numel * biases, .specials = units * kCell.specials};
}

template <MaybeLayer kRead(const OpCall&, unsigned), const Cell& kCell>
Letters layer_letters(const OpCall& call) {
  const auto layer = kRead(call, kCell.gates);
  if (!layer) return {};
  return {{"t", layer->tokens}, {"w", layer->weights}, {"b", layer->biases}, {"h", layer->hidden}};
}

// fvcore traces a cell into its two linears, and does not know the layers.
Count fvcore_cell(const OpCall& call) {
  const TensorView *x = call.tensor("input"), *hx = call.tensor("hx");
  const TensorView *ih = call.tensor("w_ih"), *hh = call.tensor("w_hh");
  if (x == nullptr || hx == nullptr || ih == nullptr || hh == nullptr) return 0;
  return x->numel * Count{ih->dim(0)} + hx->numel * Count{hh->dim(0)};
}

constexpr std::string_view kTwice = "twice the MACs and flops of the layer of its mode";
constexpr std::string_view kReluFormula = "t*w MACs + t*(b+2*h) flops";
constexpr std::string_view kTanhFormula = "t*w MACs + t*(b+h) flops + t*h tanhs";
constexpr std::string_view kLstmFormula = "t*w MACs + t*(b+17*h) flops + 5*t*h exps and tanhs";
constexpr std::string_view kGruFormula = "t*w MACs + t*(b+13*h) flops + 3*t*h exps and tanhs";

constexpr Family part_row{.category = Category::kRecurrent, .fusion = Fusion::kPointwise};

constexpr OpRow whole_row(std::string_view name, WorkFunction work, std::string_view formula) {
  return Family{.category = Category::kRecurrent, .fusion = Fusion::kAnchor}(name, work, formula) |
         InTorchCounter{};
}

template <const Cell& kCell>
constexpr OpRow layer_row(std::string_view name, std::string_view formula) {
  return whole_row(name, layer_work<stacked, kCell>, formula) | layer_letters<stacked, kCell>;
}

template <const Cell& kCell>
constexpr OpRow cell_row(std::string_view name, std::string_view formula) {
  return whole_row(name, layer_work<single, kCell>, formula) | layer_letters<single, kCell> |
         fvcore(fvcore_cell);
}

template <const Cell& kCell>
constexpr OpRow quantised_row(std::string_view name, std::string_view formula) {
  return Family{.category = Category::kRecurrent,
                .fusion = Fusion::kAnchor,
                .traffic = quantised_traffic<kCell>,
                .confidence = Confidence::kEstimated}(name, layer_work<quantised, kCell>, formula) |
         layer_letters<quantised, kCell>;
}

constexpr OpRow kRows[] = {
    whole_row("aten::_cudnn_rnn", cudnn_rnn, "as the layer of its mode"),
    whole_row("aten::_cudnn_rnn_backward", twice<cudnn_rnn>, kTwice) | Confidence::kEstimated,
    part_row("aten::_thnn_fused_gru_cell", fused_cell<kGru>, "13 flops and 3 specials per unit"),
    part_row("aten::_thnn_fused_lstm_cell", fused_cell<kLstm>, "17 flops and 5 specials per unit"),
    layer_row<kGru>("aten::gru", kGruFormula),
    cell_row<kGru>("aten::gru_cell", kGruFormula),
    layer_row<kLstm>("aten::lstm", kLstmFormula),
    cell_row<kLstm>("aten::lstm_cell", kLstmFormula),
    whole_row("aten::mkldnn_rnn_layer", mkldnn_layer<kForwardNames>, "as the layer of its mode"),
    whole_row("aten::mkldnn_rnn_layer_backward", twice<mkldnn_layer<kBackwardNames>>, kTwice) |
        Confidence::kEstimated,
    quantised_row<kGru>("aten::quantized_gru", kGruFormula),
    quantised_row<kLstm>("aten::quantized_lstm", kLstmFormula),
    layer_row<kRelu>("aten::rnn_relu", kReluFormula),
    cell_row<kRelu>("aten::rnn_relu_cell", kReluFormula),
    layer_row<kTanh>("aten::rnn_tanh", kTanhFormula),
    cell_row<kTanh>("aten::rnn_tanh_cell", kTanhFormula),
};

}  // namespace

std::span<const OpRow> recurrent_rules() { return kTable<kRows>; }

}  // namespace opscope
