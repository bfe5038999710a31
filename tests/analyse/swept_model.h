// A small transformer at any batch and length, and ways in which a model is no polynomial, for tests of
// sweeps.
#pragma once

#include <set>
#include <string>

#include "analyse/sweep/sweep.h"
#include "graph/builder.h"

namespace opscope::test {

// Embeds n = batch * length rows of 8 numbers, attends with 2 heads, and goes through two linear layers.
inline Graph attention_model(std::int64_t batch, std::int64_t length, DType dtype = DType::kFloat32) {
  GraphBuilder b("tiny", "Tiny");
  const auto like = [&](ints shape) { return TensorSpec(std::move(shape), dtype); };
  Tensor x = b.input(like({batch, length, 8}), "x");
  const auto linear = [&](const char* name, Tensor in, std::int64_t from, std::int64_t to) {
    const auto call = b.call(name, "Linear");
    const auto weight = b.parameter("weight", like({to, from})), bias = b.parameter("bias", like({to}));
    return b.op("aten::linear", {{"input", in}, {"weight", weight}, {"bias", bias}},
                {like({batch, length, to})});
  };
  const Tensor q = linear("q", x, 8, 8);
  const Tensor heads = b.op("aten::view", {{"self", q}, {"size", ints{batch, 2, length, 4}}},
                            {like({batch, 2, length, 4}).view_of(q)});
  const Tensor mixed =
      b.op("aten::scaled_dot_product_attention", {{"query", heads}, {"key", heads}, {"value", heads}},
           {like({batch, 2, length, 4})});
  const Tensor rows = b.op("aten::view", {{"self", mixed}, {"size", ints{batch, length, 8}}},
                           {like({batch, length, 8}).view_of(mixed)});
  Tensor wide = linear("up", rows, 8, 32);
  wide = b.op("aten::relu", {{"self", wide}}, {like({batch, length, 32})});
  return b.finish({linear("down", wide, 32, 8)});
}

// A model of places: which graph there is, or why not.
using GraphAt = std::function<Graph(const SweepPlace&)>;
struct Refused {
  std::string why;
};

// Captures for a Sweep, counting them.
struct Captures {
  GraphAt graph;
  std::vector<SweepPlace> taken{};

  SweepCapture take() {
    return [this](std::span<const SweepPlace> places, const SweepGiven& give) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        taken.push_back(places[i]);
        try {
          const Graph made = graph(places[i]);
          give(i, &made, "");
        } catch (const Refused& refused) {
          give(i, nullptr, refused.why);
        }
      }
    };
  }
};

inline GraphAt tiny_transformer() {
  return [](const SweepPlace& place) { return attention_model(place[0], place[1]); };
}

}  // namespace opscope::test
