// Models small enough to count by hand, and ResNet-18 as torchvision builds it, for the tests of everything
// that stands on a graph.
#pragma once

#include <string>

#include "graph/builder.h"

namespace opscope::test {

class ResNet18 {
 public:
  static Graph make(std::int64_t batch = 1) { return ResNet18(batch).graph(); }

 private:
  explicit ResNet18(std::int64_t batch) : n_(batch), b_("resnet18", "ResNet") {}

  Tensor conv(const char* name, Tensor x, std::int64_t in, std::int64_t out, std::int64_t kernel,
              std::int64_t size, std::int64_t stride) {
    const auto call = b_.call(name, "Conv2d");
    const auto weight = b_.parameter("weight", {out, in, kernel, kernel});
    return b_.op("aten::conv2d",
                 {{"input", x},
                  {"weight", weight},
                  {"bias", nullptr},
                  {"stride", ints{stride, stride}},
                  {"padding", ints{kernel / 2, kernel / 2}},
                  {"dilation", ints{1, 1}},
                  {"groups", 1}},
                 {{n_, out, size, size}});
  }

  Tensor norm(const char* name, Tensor x, std::int64_t channels, std::int64_t size) {
    const auto call = b_.call(name, "BatchNorm2d");
    const auto weight = b_.parameter("weight", {channels}), bias = b_.parameter("bias", {channels});
    const auto mean = b_.buffer("running_mean", {channels}), var = b_.buffer("running_var", {channels});
    b_.buffer("num_batches_tracked", TensorSpec(ints{}, DType::kInt64));
    return b_.op("aten::batch_norm",
                 {{"input", x},
                  {"weight", weight},
                  {"bias", bias},
                  {"running_mean", mean},
                  {"running_var", var},
                  {"training", false},
                  {"momentum", 0.1},
                  {"eps", 1e-5},
                  {"cudnn_enabled", true}},
                 {{n_, channels, size, size}});
  }

  Tensor relu(Tensor x, std::int64_t channels, std::int64_t size) {
    const auto call = b_.call("relu", "ReLU");
    return b_.op("aten::relu_", {{"self", x}}, {TensorSpec{n_, channels, size, size}.view_of(x)});
  }

  Tensor block(const char* name, Tensor x, std::int64_t in, std::int64_t out, std::int64_t size) {
    const auto call = b_.call(name, "BasicBlock");
    const std::int64_t stride = in == out ? 1 : 2;
    Tensor y = conv("conv1", x, in, out, 3, size, stride);
    y = relu(norm("bn1", y, out, size), out, size);
    y = norm("bn2", conv("conv2", y, out, out, 3, size, 1), out, size);
    Tensor shortcut = x;
    if (stride == 2) {
      const auto downsample = b_.call("downsample", "Sequential");
      shortcut = norm("1", conv("0", x, in, out, 1, size, 2), out, size);
    }
    y = b_.op("aten::add_.Tensor", {{"self", y}, {"other", shortcut}, {"alpha", 1}},
              {TensorSpec{n_, out, size, size}.view_of(y)});
    return relu(y, out, size);
  }

  Tensor stage(const char* name, Tensor x, std::int64_t in, std::int64_t out, std::int64_t size) {
    const auto call = b_.call(name, "Sequential");
    return block("1", block("0", x, in, out, size), out, out, size);
  }

  Graph graph() {
    Tensor x = b_.input({n_, 3, 224, 224}, "x");
    x = relu(norm("bn1", conv("conv1", x, 3, 64, 7, 112, 2), 64, 112), 64, 112);
    {
      const auto call = b_.call("maxpool", "MaxPool2d");
      x = b_.op("aten::max_pool2d",
                {{"self", x},
                 {"kernel_size", ints{3, 3}},
                 {"stride", ints{2, 2}},
                 {"padding", ints{1, 1}},
                 {"dilation", ints{1, 1}},
                 {"ceil_mode", false}},
                {{n_, 64, 56, 56}});
    }
    x = stage("layer1", x, 64, 64, 56);
    x = stage("layer2", x, 64, 128, 28);
    x = stage("layer3", x, 128, 256, 14);
    x = stage("layer4", x, 256, 512, 7);
    {
      const auto call = b_.call("avgpool", "AdaptiveAvgPool2d");
      x = b_.op("aten::adaptive_avg_pool2d", {{"self", x}, {"output_size", ints{1, 1}}}, {{n_, 512, 1, 1}});
    }
    x = b_.op("aten::flatten.using_ints", {{"self", x}, {"start_dim", 1}, {"end_dim", -1}},
              {TensorSpec{n_, 512}.view_of(x)});
    {
      const auto call = b_.call("fc", "Linear");
      const auto weight = b_.parameter("weight", {1000, 512}), bias = b_.parameter("bias", {1000});
      x = b_.op("aten::linear", {{"input", x}, {"weight", weight}, {"bias", bias}}, {{n_, 1000}});
    }
    b_.graph().capture.source = "torchvision 0.28.0";
    b_.graph().capture.torch = "2.13.0";
    b_.graph().capture.seconds = 0.0014;
    return b_.finish({x});
  }

  std::int64_t n_;
  GraphBuilder b_;
};

// A Linear(10, 10) that two branches share and that is tied to a third module, an op that nobody knows, a
// module that never ran, and a note from the capture.
inline Graph shared_and_unknown() {
  GraphBuilder b("my_model", "MyModel");
  const auto x = b.input({1, 10}, "x");
  Tensor weight, y = x;
  for (int call_number = 0; call_number < 2; ++call_number) {
    const auto call = b.call("shared", "Linear");
    weight = b.parameter("weight", {10, 10});
    const auto bias = b.parameter("bias", {10}, false);
    y = b.op("aten::linear", {{"input", y}, {"weight", weight}, {"bias", bias}}, {{1, 10}});
  }
  {
    const auto call = b.call("head", "Tied");
    b.tie("weight", weight);
    y = b.op("aten::linear", {{"input", y}, {"weight", weight}, {"bias", nullptr}}, {{1, 10}});
  }
  b.module("unused", "Identity");
  for (int i = 0; i < 3; ++i) y = b.op("mylib::foo", {{"x", y}}, {{1, 10}});
  y = b.op("aten::add.Tensor", {{"self", y}, {"other", x}, {"alpha", 1}}, {{1, 10}});
  b.graph().diagnostics.push_back({"assumption", "", "head", "the input was taken to be one row"});
  b.graph().capture.source = "my_model.py";
  return b.finish({y});
}

}  // namespace opscope::test
