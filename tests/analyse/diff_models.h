// Models as plain descriptions that tests edit and build: a tree of modules whose leaves are Linear, ReLU or
// an op that nobody knows, run in order.
#pragma once

#include <string>
#include <vector>

#include "analyse/diff/diff.h"
#include "graph/builder.h"

namespace opscope::test {

struct Part {
  std::string name, type;
  std::int64_t width = 0;  // of a Linear: what it gives
  std::vector<Part> parts{};
  bool adds = false;  // a module with parts: adds its input to its result
};

inline Part linear(std::string name, std::int64_t width) { return {std::move(name), "Linear", width}; }
inline Part relu(std::string name) { return {std::move(name), "ReLU"}; }
inline Part unknown(std::string name) { return {std::move(name), "Strange"}; }
inline Part block(std::string name, std::vector<Part> parts, bool adds = false) {
  return {std::move(name), "Block", 0, std::move(parts), adds};
}
// Numbered from 0 on.
inline Part sequence(std::string name, std::vector<Part> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].name = std::to_string(i);
  return {std::move(name), "Sequential", 0, std::move(parts)};
}

class PartBuilder {
 public:
  static Graph make(const std::vector<Part>& parts, std::int64_t width = 8) {
    PartBuilder one;
    one.width_ = width;
    one.x_ = one.b_.input({2, width}, "x");
    for (const Part& part : parts) one.run(part);
    return one.b_.finish({one.x_});
  }

 private:
  void run(const Part& part) {
    const auto call = b_.call(part.name, part.type);
    if (part.type == "Linear") {
      const auto weight = b_.parameter("weight", {part.width, width_}),
                 bias = b_.parameter("bias", {part.width});
      width_ = part.width;
      x_ = b_.op("aten::linear", {{"input", x_}, {"weight", weight}, {"bias", bias}}, {{2, width_}});
    } else if (part.type == "ReLU") {
      x_ = b_.op("aten::relu", {{"self", x_}}, {{2, width_}});
    } else if (part.type == "Strange") {
      x_ = b_.op("mylib::strange", {{"x", x_}}, {{2, width_}});
    } else {
      const Tensor before = x_;
      const std::int64_t width = width_;
      for (const Part& inner : part.parts) run(inner);
      if (part.adds && width == width_)
        x_ = b_.op("aten::add.Tensor", {{"self", x_}, {"other", before}, {"alpha", 1}}, {{2, width_}});
    }
  }

  GraphBuilder b_{"net", "Net"};
  Tensor x_;
  std::int64_t width_ = 8;
};

// A model with all that a diff takes.
struct Version {
  explicit Version(const std::vector<Part>& parts, std::int64_t width = 8)
      : Version(PartBuilder::make(parts, width)) {}
  explicit Version(Graph g)
      : graph(std::move(g)), profile(make_profile(graph)), figures(figures_of(profile)) {}
  Version(const Version&) = delete;

  Graph graph;
  Profile profile;
  Figures figures;
};

inline ModelDiff diff_of(const Version& base, const Version& now) {
  return make_diff({"base", &base.figures, &base.profile}, {"new", &now.figures, &now.profile});
}
// As two saved profiles.
inline ModelDiff diff_of_figures(const Version& base, const Version& now) {
  return make_diff({"base", &base.figures, nullptr}, {"new", &now.figures, nullptr});
}

}  // namespace opscope::test
