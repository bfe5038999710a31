// A model as the tree that a diff compares: every module, and every op that a module with parts ran itself.
// Each item holds what is its own, so that the items of a tree add up to the model. The same from a profile
// made now and from a saved one, which knows no arguments of ops.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/figures.h"
#include "analyse/tree/module_tree.h"

namespace opscope {

// What adds up over a model, signed so that differences do too. Stops at the limits of 64 bits.
struct Amounts {
  std::int64_t params = 0, macs = 0, flops = 0, memory_bytes = 0, ops = 0;
  std::int64_t time = 0, roofline_time = 0, predicted_time = 0;  // picoseconds

  Amounts& operator+=(const Amounts& other);
  Amounts& operator-=(const Amounts& other);
  friend Amounts operator-(Amounts a, const Amounts& b) { return a -= b; }
  // Something other than a time, which differs from run to run and is no change of the model.
  bool has_cost() const { return params || macs || flops || memory_bytes || ops; }
  friend bool operator==(const Amounts&, const Amounts&) = default;
};
struct AmountField {
  std::string_view key;  // of the metric
  std::int64_t Amounts::*amount;
};
inline constexpr std::array kAmountFields{AmountField{"params", &Amounts::params},
                                          AmountField{"macs", &Amounts::macs},
                                          AmountField{"flops", &Amounts::flops},
                                          AmountField{"memory_bytes", &Amounts::memory_bytes},
                                          AmountField{"ops", &Amounts::ops},
                                          AmountField{"time_seconds", &Amounts::time},
                                          AmountField{"roofline_seconds", &Amounts::roofline_time},
                                          AmountField{"predicted_seconds", &Amounts::predicted_time}};
// The first are counts, the others times.
constexpr std::span<const AmountField> count_fields() { return std::span(kAmountFields).first(5); }
Amounts amounts_of(const Metrics& metrics, const Parameters& parameters);

// What kind of fact about a layer, in the order in which a person wants to hear of it.
enum class DetailKind : std::uint8_t {
  kType,       // its class or op
  kOps,        // what it runs
  kAttribute,  // stride, groups, eps; how often it is called
  kSize,       // sizes that its author chose: out_channels, out_features, kernel
  kWeight,     // sizes of weights that follow from its input
  kDType,
  kShape,  // of what it takes and gives
  kCost,   // nothing else that is known, but its numbers
};
std::string_view name(DetailKind kind);  // "type", "ops", "attribute", ...

struct LayerDetail {
  DetailKind kind = DetailKind::kAttribute;
  std::string what;   // "stride"
  std::string value;  // "2x2"
  friend bool operator==(const LayerDetail&, const LayerDetail&) = default;
};

// Children are modules in the model's order, then ops in the order they ran, called by their types.
struct DiffItem : TreeNode {
  std::string path{};    // "layer1.0.conv1"; "" for the root
  std::string type{};    // "Conv2d"; "add"
  Amounts own{}, all{};  // of itself; with everything below it
  Confidence confidence = Confidence::kExact;
  std::vector<LayerDetail> details{};
  std::vector<std::uint32_t> layers{};  // of the figures: its calls, or the op itself
  // Equal for what is the same below it and in itself, its own name aside: in everything; in what its author
  // wrote (shapes of activations and costs aside); in the classes that it is made of.
  std::uint64_t exact = 0, config = 0, kind = 0;

  bool is_layer() const { return children.empty(); }
};

using DiffTree = ModuleTree<DiffItem>;

// `profile`: what the figures are of, for the arguments of ops; nullptr where it was saved.
DiffTree make_diff_tree(const Figures& figures, const Profile* profile);

// Which item of one tree is which of another.
struct DiffMatch {
  std::vector<std::uint32_t> in_new;   // by item of the base; kNone: removed
  std::vector<std::uint32_t> in_base;  // by item of the new tree; kNone: added
};

// Roots are each other's. Below partners: modules by name, numbered ones and ops in order by what they are,
// what is most alike first, so that an index that shifts is no change; then what is the same somewhere else.
DiffMatch match_trees(const DiffTree& base, const DiffTree& now);

// Both are numbers: places in a list, not names.
bool are_indices(const DiffItem& a, const DiffItem& b);

}  // namespace opscope
