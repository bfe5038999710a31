#include "hardware/predict/features.h"

#include <algorithm>
#include <cmath>

#include "base/choices.h"
#include "base/hash.h"
#include "hardware/predict/layout.h"
#include "hardware/roofline.h"

namespace opscope {
namespace {

constexpr auto kFamilyNames = choices<OpFamily, OpFamily::kOther>(
    "matmul", "conv", "attention", "recurrent", "norm", "softmax", "reduction", "pool", "pointwise", "copy",
    "gather", "create", "sort", "other");

constexpr auto kGroupNames = choices<OpGroup, OpGroup::kMasked>(
    "plain", "backward", "unaligned8", "unaligned4", "unaligned2", "experts", "point", "point_backward",
    "first", "first_backward", "grouped", "grouped_backward", "depthwise", "depthwise_backward", "transposed",
    "transposed_backward", "batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward",
    "linear_resize", "cubic_resize", "lstm", "gru", "foreach", "unfused", "padded", "masked");

constexpr double kFewChannels = 4;  // of a picture

enum Kind : std::uint32_t {
  kFirstTransposed = 1,
  kSecondTransposed = 2,
  kDilated = 4,
  kTransposed = 8,  // a transposed convolution
  kChannelsLast = 16,
  kGrouped = 32,
  kDepthwise = 64,
  kStrided = 128,   // an input is not contiguous
  kMixed = 256,     // inputs of several dtypes, or the result's is another
  kWithBias = 512,  // a bias, a mask
  kCausal = 1024,
  kInPlace = 2048,
  kBroadcast = 4096,  // an input is smaller than the result
  kNoInputGradient = 8192,
  kNoWeightGradient = 16384,
  kTraining = 32768,
};

float log_of(double size) { return static_cast<float>(std::log2(std::max(size, 1.0))); }

// The group that comes behind: of the op's backward.
OpGroup with_backward(OpGroup group, bool is_backward) {
  return static_cast<OpGroup>(static_cast<int>(group) + (is_backward ? 1 : 0));
}

class Reader {
 public:
  Reader(const OpCall& call, const OpCost& cost, OpFeatures& into) : call_(call), cost_(cost), into_(into) {}

  void read() {
    size(into_.work()), size(into_.bytes);
    switch (into_.family) {
      case OpFamily::kMatmul:
        if (product()) return;
        break;
      case OpFamily::kConv:
        if (convolution()) return;
        break;
      case OpFamily::kAttention:
        if (attention()) return;
        break;
      case OpFamily::kRecurrent:
        if (recurrence()) return;
        break;
      default:
        break;
    }
    elements();
  }

 private:
  void size(double value) {
    if (into_.size_count < into_.sizes.size()) into_.sizes[into_.size_count++] = log_of(value);
  }
  void mark(bool is, Kind kind) {
    if (is) into_.kind |= kind;
  }

  // Tiles of the result, and how full the last turn of them is, where one processor takes one.
  void tiles(double rows, double columns, double count) {
    const double made = std::ceil(rows / 128) * std::ceil(columns / 128) * count;
    size(made), size(16 * made / (std::ceil(made / kProcessors) * kProcessors));
  }

  // Rows and columns of the result, what is summed, how many such products.
  bool product() {
    if (call_.outputs.empty() || !cost_.work.macs || call_.inputs.size() < 2) return false;
    const TensorView& out = call_.outputs[0];
    if (out.rank() == 0 || !out.numel) return false;
    const auto columns = static_cast<double>(out.dim(-1));
    const double all = static_cast<double>(out.numel);
    const double inner = static_cast<double>(cost_.work.macs) / all;
    const TensorView* first = nullptr;
    const TensorView* second = nullptr;
    for (const TensorView& input : call_.inputs) {
      if (input.rank() < 2) continue;
      if (first != nullptr && second != nullptr) first = second;  // addmm: the bias came first
      (first == nullptr ? first : second) = &input;
    }
    const bool batched = second != nullptr && second->rank() >= 3 && out.rank() >= 3;
    const double rows = batched ? static_cast<double>(out.dim(-2)) : all / columns;
    const double count = all / columns / std::max(rows, 1.0);
    size(rows), size(columns), size(inner), size(count);
    size(alignment(rows)), size(alignment(columns)), size(alignment(inner));
    tiles(rows, columns, count);
    double aligned = row_alignment(out);
    for (const TensorView* matrix : {first, second})
      if (matrix != nullptr) aligned = std::min(aligned, row_alignment(*matrix));
    size(aligned);
    if (call_.name().find("_grouped_mm") != std::string_view::npos)
      into_.group = OpGroup::kExperts;
    else if (aligned < 16)
      into_.group = aligned < 4   ? OpGroup::kUnaligned2
                    : aligned < 8 ? OpGroup::kUnaligned4
                                  : OpGroup::kUnaligned8;
    if (first != nullptr)
      mark(is_transposed(*first), kFirstTransposed), mark(!is_contiguous(*first), kStrided);
    if (second != nullptr) mark(is_transposed(*second), kSecondTransposed);
    mark(call_.has("bias") || call_.inputs.size() > 2, kWithBias);
    // A batch that lies across is copied first, and the bias is added behind.
    if (first != nullptr && first->rank() > 2 && !is_contiguous(*first) &&
        op_type(call_.name()) == std::string_view("linear"))
      into_.steps = 2 * static_cast<double>(first->bytes()) +
                    (call_.has("bias") ? 2 * static_cast<double>(out.bytes()) : 0);
    return true;
  }

  bool convolution() {
    const TensorView* weight = call_.tensor("weight");
    if (weight == nullptr || weight->rank() < 3 || call_.outputs.empty()) return false;
    const TensorView* gradient = call_.tensor("grad_output");
    const TensorView& out = gradient != nullptr ? *gradient : call_.outputs[0];
    if (out.rank() < 3) return false;
    const auto groups = static_cast<double>(call_.integer("groups").value_or(1));
    double kernel = 1, places = 1;
    for (std::size_t i = 2; i < weight->rank(); ++i) kernel *= static_cast<double>(weight->shape[i]);
    for (std::size_t i = 2; i < out.rank(); ++i) places *= static_cast<double>(out.shape[i]);
    const auto channels = static_cast<double>(weight->dim(1)), filters = static_cast<double>(weight->dim(0));
    double stride = 1, dilation = 1;
    for (const std::int64_t each : call_.ints("stride"))
      stride *= static_cast<double>(std::max<std::int64_t>(each, 1));
    for (const std::int64_t each : call_.ints("dilation"))
      dilation *= static_cast<double>(std::max<std::int64_t>(each, 1));
    const double batch = static_cast<double>(out.dim(0));
    size(batch), size(places), size(filters / groups), size(channels), size(kernel), size(stride),
        size(groups);
    size(alignment(channels * (channels == 1 ? groups : 1))), size(alignment(filters));
    tiles(batch * places, filters / groups, groups);
    size(static_cast<double>(weight->rank()));
    const TensorView* input = call_.tensor("input");
    size(static_cast<double>(weight->dim(-1))), size(alignment(static_cast<double>(out.dim(-1))));
    if (input != nullptr) size(static_cast<double>(input->numel)), size(static_cast<double>(input->dim(1)));
    size(alignment(places));
    mark((input != nullptr && is_channels_last(*input)) || is_channels_last(*weight), kChannelsLast);
    const bool is_transposed =
        call_.boolean("transposed").value_or(call_.name().find("transpose") != std::string_view::npos);
    into_.group = with_backward(is_transposed                       ? OpGroup::kTransposed
                                : groups > 1 && weight->dim(1) == 1 ? OpGroup::kDepthwise
                                : groups > 1                        ? OpGroup::kGrouped
                                : channels <= kFewChannels          ? OpGroup::kFirst
                                : kernel == 1                       ? OpGroup::kPoint
                                                                    : OpGroup::kPlain,
                                gradient != nullptr);
    mark(groups > 1 && weight->dim(1) > 1, kGrouped);
    mark(groups > 1 && weight->dim(1) == 1, kDepthwise);
    mark(dilation > 1, kDilated);
    mark(is_transposed, kTransposed);
    mark(call_.has("bias"), kWithBias);
    if (const auto wanted = call_.ints("output_mask"); gradient != nullptr && wanted.size() == 3)
      mark(wanted[0] == 0, kNoInputGradient), mark(wanted[1] == 0, kNoWeightGradient),
          mark(wanted[2] != 0, kWithBias);
    return true;
  }

  bool attention() {
    const TensorView* query = call_.tensor("query");
    const TensorView* key = call_.tensor("key");
    if (query == nullptr || key == nullptr || query->rank() < 3) return false;
    const double places = static_cast<double>(query->dim(-2)), width = static_cast<double>(query->dim(-1));
    const double heads = static_cast<double>(query->numel) / std::max(places * width, 1.0);
    const double keys = static_cast<double>(key->dim(-2));
    into_.group = attention_group(*query, *key);
    size(heads), size(places), size(keys), size(width);
    size(static_cast<double>(key->numel) / std::max(keys * width, 1.0));
    size(alignment(width)), size(alignment(keys));
    const double made = std::ceil(places / 128) * heads;
    size(made), size(16 * made / (std::ceil(made / kProcessors) * kProcessors));
    // A block goes over the keys of its queries; in the backward pass over the queries of its keys.
    const bool backward = into_.group == OpGroup::kBackward;
    const double turns = std::ceil(std::ceil((backward ? keys : places) / 64) * heads / kProcessors);
    into_.steps = turns * (backward ? places : keys);
    size(turns), size(into_.steps);
    mark(call_.has("attn_mask") || call_.has("attn_bias"), kWithBias);
    mark(call_.boolean("is_causal").value_or(false), kCausal);
    // Copies, in float32 where they are halves, and many turns over the scores: bytes as they were found on a
    // GPU.
    if (into_.group == OpGroup::kUnfused)
      into_.bytes = into_.bytes * (element_bytes(query->dtype) < 4 ? 16 : 5) + 40 * heads * places * keys;
    mark(call_.real("dropout_p").value_or(0) > 0, kTraining);
    mark(!is_contiguous(*query), kStrided);
    return true;
  }

  // By which kernels PyTorch runs it on a GPU.
  OpGroup attention_group(const TensorView& query, const TensorView& key) const {
    if (call_.name().find("backward") != std::string_view::npos) return OpGroup::kBackward;
    if (query.rank() != 4) return OpGroup::kUnfused;
    const bool is_half = element_bytes(query.dtype) < 4, is_masked = call_.has("attn_mask");
    // No fused kernel reads a mask whose last dimension has gaps, as a table of positions that was turned
    // has.
    if (const TensorView* mask = call_.tensor("attn_mask");
        mask != nullptr && !mask->strides.empty() && mask->dim(-1) > 1 && mask->strides.back() != 1 &&
        !(mask->dtype == DType::kBool && mask->strides.back() == 0))  // which is made a dense one of numbers
      return OpGroup::kUnfused;
    const bool is_whole = query.dim(-1) * static_cast<std::int64_t>(element_bytes(query.dtype)) % 16 == 0;
    if (!is_half) {
      const bool is_grouped = call_.boolean("enable_gqa").value_or(false) && query.dim(1) != key.dim(1);
      return is_whole && !is_grouped ? OpGroup::kPlain : OpGroup::kUnfused;
    }
    if (!is_whole) return is_masked ? OpGroup::kUnfused : OpGroup::kPadded;
    return is_masked ? OpGroup::kMasked : OpGroup::kPlain;
  }

  // Steps of one layer follow one another, and layers do; directions run side by side.
  bool recurrence() {
    if (call_.name().find("lstm") != std::string_view::npos) into_.group = OpGroup::kLstm;
    if (call_.name().find("gru") != std::string_view::npos) into_.group = OpGroup::kGru;
    auto weights = call_.tensors("params");
    if (weights.empty()) weights = call_.tensors("weight");
    if (weights.size() < 2 || weights[1].rank() != 2 || call_.inputs.empty() || call_.inputs[0].rank() != 3)
      return false;
    const TensorView& input = call_.inputs[0];
    const bool batch_first = call_.boolean("batch_first").value_or(false);
    const auto layers = static_cast<double>(call_.integer("num_layers").value_or(1));
    const double times = static_cast<double>(input.dim(batch_first ? 1 : 0)),
                 hidden = static_cast<double>(weights[1].dim(1));
    const double directions = call_.boolean("bidirectional").value_or(false) ? 2 : 1;
    into_.steps = layers * times, into_.chain = into_.steps * directions;
    size(into_.steps), size(static_cast<double>(input.dim(batch_first ? 0 : 1))),
        size(static_cast<double>(input.dim(2)));
    size(hidden), size(layers), size(directions);
    size(static_cast<double>(weights[1].dim(0))), size(alignment(hidden));
    mark(call_.boolean("train").value_or(false), kTraining);
    mark(batch_first, kStrided);
    return true;
  }

  // Everything that goes over elements.
  void elements() {
    Count read{}, written{};
    Count largest{};
    const TensorView* main = nullptr;
    double in_a_row = 1 << 16;
    for (const TensorView& input : call_.inputs) {
      read += input.distinct_bytes();
      if (main == nullptr || input.numel > largest) main = &input, largest = input.numel;
      if (input.numel > Count{1}) in_a_row = std::min(in_a_row, run_bytes(input));
    }
    for (const TensorView& output : call_.outputs) written += output.bytes();
    const TensorView* out = call_.outputs.empty() ? main : &call_.outputs[0];
    size(static_cast<double>(read)), size(static_cast<double>(written));
    if (main == nullptr || out == nullptr) return;
    const double all = static_cast<double>(std::max(main->numel, out->numel));
    const double row = row_length(*main);
    size(row), size(all / std::max(row, 1.0));
    serial_steps(*main, *out, row);
    size(all / std::max(static_cast<double>(out->numel), 1.0));
    size(static_cast<double>(call_.inputs.size())), size(in_a_row), size(std::min(run_bytes(*out), 65536.0));
    size(alignment(row)), size(static_cast<double>(out->dim(-1)));
    mark(call_.boolean("training").value_or(false) || call_.boolean("train").value_or(false), kTraining);
    for (const TensorView& input : call_.inputs) {
      mark(!is_contiguous(input) && !is_channels_last(input), kStrided);
      mark(is_channels_last(input), kChannelsLast);
      mark(input.dtype != out->dtype, kMixed);
      mark(input.numel != out->numel, kBroadcast);
      mark(input.storage != kNone && input.storage == out->storage, kInPlace);
    }
  }

  // What one thread or block does one after the other, and the group that such kernels make.
  void serial_steps(const TensorView& main, const TensorView& out, double row) {
    const std::string_view op = call_.name();
    const auto has = [&](std::string_view word) { return op.find(word) != std::string_view::npos; };
    const auto batch = static_cast<double>(main.rank() > 0 ? main.dim(0) : 1);
    const double maps = batch * static_cast<double>(main.rank() > 1 ? main.dim(1) : 1);
    const bool backward = has("backward");
    if (backward) into_.group = OpGroup::kBackward;
    switch (into_.family) {
      case OpFamily::kNorm:
        into_.steps = row;
        if (has("batch_norm")) into_.group = with_backward(OpGroup::kBatchNorm, backward);
        if (has("group_norm") || has("instance_norm"))
          into_.group = with_backward(OpGroup::kGroupNorm, backward);
        break;
      case OpFamily::kPool:
        into_.steps =
            std::max(static_cast<double>(main.numel) / std::max(static_cast<double>(out.numel), 1.0), 1.0);
        if (!has("linear") && !has("bicubic")) break;
        into_.group = has("linear") ? OpGroup::kLinearResize : OpGroup::kCubicResize;
        // A thread makes one place of all pictures and channels, but for these.
        into_.steps = backward || has("_aa") || (has("linear") && is_channels_last(out)) ? 0 : maps;
        break;
      case OpFamily::kPointwise:
        if (has("_foreach_") || has("_fused_")) into_.group = OpGroup::kForeach;
        break;
      default:
        break;
    }
  }

  // What is worked on together: a row that is normalised or summed up, a channel's places.
  double row_length(const TensorView& main) const {
    const double all = static_cast<double>(main.numel);
    if (const auto normalised = call_.ints("normalized_shape"); !normalised.empty()) {
      double row = 1;
      for (const std::int64_t each : normalised) row *= static_cast<double>(each);
      return row;
    }
    if (const auto groups = call_.integer("num_groups").value_or(call_.integer("group").value_or(0));
        groups > 0)
      return all /
             (static_cast<double>(groups) * static_cast<double>(std::max<std::int64_t>(main.dim(0), 1)));
    if (into_.family == OpFamily::kNorm && main.rank() > 1)
      return all / static_cast<double>(std::max<std::int64_t>(main.dim(1), 1));
    if (into_.family == OpFamily::kReduction && !call_.outputs.empty() && call_.outputs[0].numel)
      return std::max(all / static_cast<double>(call_.outputs[0].numel), 1.0);
    if (into_.family == OpFamily::kSoftmax)
      return static_cast<double>(main.dim(call_.integer("dim").value_or(-1)));
    return static_cast<double>(main.dim(-1));
  }

  const OpCall& call_;
  const OpCost& cost_;
  OpFeatures& into_;
};

}  // namespace

std::string_view name(OpFamily family) { return kFamilyNames[family]; }

std::optional<OpFamily> family_named(std::string_view text) { return named(text, OpFamily::kOther); }

std::string_view name(OpGroup group) { return kGroupNames[group]; }

std::optional<OpGroup> group_named(std::string_view text) { return named(text, OpGroup::kMasked); }

OpFamily family_of(Category category) {
  switch (category) {
    case Category::kConv:
      return OpFamily::kConv;
    case Category::kMatmul:
    case Category::kQuantised:
      return OpFamily::kMatmul;
    case Category::kAttention:
      return OpFamily::kAttention;
    case Category::kNorm:
      return OpFamily::kNorm;
    case Category::kActivation:
    case Category::kPointwise:
    case Category::kRandom:
    case Category::kLoss:
      return OpFamily::kPointwise;
    case Category::kSoftmax:
      return OpFamily::kSoftmax;
    case Category::kReduction:
      return OpFamily::kReduction;
    case Category::kPool:
    case Category::kResize:
      return OpFamily::kPool;
    case Category::kEmbedding:
    case Category::kIndex:
      return OpFamily::kGather;
    case Category::kRecurrent:
      return OpFamily::kRecurrent;
    case Category::kSort:
      return OpFamily::kSort;
    case Category::kCopy:
    case Category::kView:
      return OpFamily::kCopy;
    case Category::kCreate:
      return OpFamily::kCreate;
    case Category::kMetadata:
    case Category::kFft:
    case Category::kCustom:
      break;
  }
  return OpFamily::kOther;
}

OpFamily family_of(std::string_view op_name) {
  const OpRule* rule = find_rule(op_name);
  return rule == nullptr ? OpFamily::kOther : family_of(rule->category);
}

OpFeatures features_of(const OpCall& call, const OpCost& cost, DType dtype) {
  OpFeatures features;
  features.dtype = dtype;
  features.family = cost.rule != nullptr ? family_of(cost.rule->category) : OpFamily::kOther;
  features.op = hash64(op_type(call.name()));
  features.products = 2 * static_cast<double>(cost.work.macs);
  features.others = static_cast<double>(cost.work.other_flops) + static_cast<double>(cost.work.specials);
  features.bytes = static_cast<double>(cost.traffic.total());
  Reader(call, cost, features).read();
  return features;
}

}  // namespace opscope
