// Two kinds of block, as torchvision's ResNet and a pre-norm transformer have them: their ops, arguments and
// module calls are what the engine records for those.
#include "synthetic.h"

#include <string>

#include "graph/builder.h"

namespace opscope::bench {
namespace {

constexpr std::int64_t kChannels = 64, kSide = 56;
constexpr std::int64_t kTokens = 196, kWidth = 768, kHeads = 12, kHidden = 3072;

class Model {
 public:
  Model()
      : builder_("synthetic", "Model"),
        image_(builder_.input({1, kChannels, kSide, kSide}, "image")),
        text_(builder_.input({1, kTokens, kWidth}, "tokens")) {}

  Graph make(std::size_t op_count) {
    for (std::size_t i = 0; builder_.graph().ops.size() < op_count; ++i) {
      const auto block =
          builder_.call("blocks." + std::to_string(i), i % 2 == 0 ? "BasicBlock" : "EncoderBlock");
      if (i % 2 == 0)
        residual_block();
      else
        transformer_block();
    }
    return builder_.finish({image_, text_});
  }

 private:
  void residual_block() {
    auto x = relu("relu", batch_norm("bn1", convolution("conv1", image_)));
    x = batch_norm("bn2", convolution("conv2", x));
    x = builder_.op("aten::add_.Tensor", {{"self", x}, {"other", image_}, {"alpha", 1}},
                    {TensorSpec{1, kChannels, kSide, kSide}.view_of(x)});
    image_ = relu("relu", x);
  }

  Tensor convolution(const char* name, Tensor x) {
    const auto call = builder_.call(name, "Conv2d");
    const auto weight = builder_.parameter("weight", {kChannels, kChannels, 3, 3});
    return builder_.op("aten::conv2d",
                       {{"input", x},
                        {"weight", weight},
                        {"bias", nullptr},
                        {"stride", ints{1, 1}},
                        {"padding", ints{1, 1}},
                        {"dilation", ints{1, 1}},
                        {"groups", 1}},
                       {{1, kChannels, kSide, kSide}});
  }

  Tensor batch_norm(const char* name, Tensor x) {
    const auto call = builder_.call(name, "BatchNorm2d");
    const auto weight = builder_.parameter("weight", {kChannels}),
               bias = builder_.parameter("bias", {kChannels});
    const auto mean = builder_.buffer("running_mean", {kChannels}),
               var = builder_.buffer("running_var", {kChannels});
    return builder_.op("aten::batch_norm",
                       {{"input", x},
                        {"weight", weight},
                        {"bias", bias},
                        {"running_mean", mean},
                        {"running_var", var},
                        {"training", false},
                        {"momentum", 0.1},
                        {"eps", 1e-5},
                        {"cudnn_enabled", true}},
                       {{1, kChannels, kSide, kSide}});
  }

  Tensor relu(const char* name, Tensor x) {
    const auto call = builder_.call(name, "ReLU");
    return builder_.op("aten::relu_", {{"self", x}}, {TensorSpec{1, kChannels, kSide, kSide}.view_of(x)});
  }

  void transformer_block() {
    const auto attended = attention(layer_norm("ln_1", text_));
    text_ = add(text_, attended);
    auto x = linear("mlp.0", layer_norm("ln_2", text_), kWidth, kHidden);
    {
      const auto call = builder_.call("mlp.1", "GELU");
      x = builder_.op("aten::gelu", {{"self", x}, {"approximate", "none"}}, {{1, kTokens, kHidden}});
    }
    text_ = add(text_, linear("mlp.3", x, kHidden, kWidth));
  }

  Tensor attention(Tensor x) {
    const auto call = builder_.call("self_attention", "Attention");
    Tensor heads[3];
    const char* const names[] = {"q_proj", "k_proj", "v_proj"};
    for (int i = 0; i < 3; ++i) heads[i] = split_heads(linear(names[i], x, kWidth, kWidth));
    const ints shape{1, kHeads, kTokens, kWidth / kHeads};
    x = builder_.op("aten::scaled_dot_product_attention",
                    {{"query", heads[0]},
                     {"key", heads[1]},
                     {"value", heads[2]},
                     {"attn_mask", nullptr},
                     {"dropout_p", 0.0},
                     {"is_causal", false},
                     {"scale", nullptr},
                     {"enable_gqa", false}},
                    {TensorSpec(shape)});
    x = builder_.op("aten::transpose.int", {{"self", x}, {"dim0", 1}, {"dim1", 2}},
                    {TensorSpec{1, kTokens, kHeads, kWidth / kHeads}.view_of(x)});
    x = builder_.op("aten::reshape", {{"self", x}, {"shape", ints{1, kTokens, kWidth}}},
                    {{1, kTokens, kWidth}});
    return linear("out_proj", x, kWidth, kWidth);
  }

  Tensor split_heads(Tensor x) {
    x = builder_.op("aten::view", {{"self", x}, {"size", ints{1, kTokens, kHeads, kWidth / kHeads}}},
                    {TensorSpec{1, kTokens, kHeads, kWidth / kHeads}.view_of(x)});
    return builder_.op("aten::transpose.int", {{"self", x}, {"dim0", 1}, {"dim1", 2}},
                       {TensorSpec{1, kHeads, kTokens, kWidth / kHeads}.view_of(x)});
  }

  Tensor layer_norm(const char* name, Tensor x) {
    const auto call = builder_.call(name, "LayerNorm");
    const auto weight = builder_.parameter("weight", {kWidth}), bias = builder_.parameter("bias", {kWidth});
    return builder_.op("aten::layer_norm",
                       {{"input", x},
                        {"normalized_shape", ints{kWidth}},
                        {"weight", weight},
                        {"bias", bias},
                        {"eps", 1e-6},
                        {"cudnn_enable", true}},
                       {{1, kTokens, kWidth}});
  }

  Tensor linear(const char* name, Tensor x, std::int64_t from, std::int64_t to) {
    const auto call = builder_.call(name, "Linear");
    const auto weight = builder_.parameter("weight", {to, from}), bias = builder_.parameter("bias", {to});
    return builder_.op("aten::linear", {{"input", x}, {"weight", weight}, {"bias", bias}},
                       {{1, kTokens, to}});
  }

  Tensor add(Tensor a, Tensor b) {
    return builder_.op("aten::add.Tensor", {{"self", a}, {"other", b}, {"alpha", 1}}, {{1, kTokens, kWidth}});
  }

  GraphBuilder builder_;
  Tensor image_, text_;
};

}  // namespace

Graph synthetic_model(std::size_t op_count) { return Model().make(op_count); }

}  // namespace opscope::bench
