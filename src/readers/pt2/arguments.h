// The arguments of an exported program's nodes, from PyTorch's tagged unions to the graph's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "readers/json/dom.h"
#include "readers/pt2/symbols.h"

namespace opscope {

// The values of one (sub)graph of the program, tensor metas and symbolic integers: names are its own.
class Pt2Frame {
 public:
  Pt2Frame(dom::Item graph, Symbols& symbols);

  dom::Item graph() const { return graph_; }
  ValueSpec spec(std::string_view name) const;  // of the tensor of that name, from the file's meta
  bool requires_grad(std::string_view name) const {
    const auto* found = meta(name);
    return found != nullptr && found->boolean_or("requires_grad");
  }
  std::optional<std::int64_t> integer(std::string_view name) const {  // a symbolic integer's value
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    const auto found = integers_.find(name);
    if (found == integers_.end()) return std::nullopt;
    return sym_int(found->second);
  }
  ValueId tensor(std::string_view name) const {  // throws where nothing made it
    const auto found = made_.find(name);
    if (found == made_.end())
      graph_.source().fail("an op reads '" + truncate(name, 40) + "' before anything makes it");
    return found->second;
  }
  bool has_tensor(std::string_view name) const { return made_.contains(name); }
  void make(std::string_view name, ValueId id) { made_.insert_or_assign(name, id); }
  void set_integer(std::string_view name, std::int64_t value) { known_.insert_or_assign(name, value); }
  // Notes which dimension of which input each lone symbol is.
  void describe_dims(std::string_view name) const;

 private:
  const dom::Item* meta(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  // {"as_int": 3} or {"as_expr": {"expr_str": ..}}; 1 where a symbol is missing, which Symbols remembers.
  std::int64_t sym_int(dom::Item item) const {
    const auto [tag, value] = item.tagged();
    if (tag == "as_int") return value.integer();
    if (tag != "as_expr") graph_.source().fail("a size of an unknown kind");
    return symbols_.evaluate(value.text("expr_str")).value_or(1);
  }

  dom::Item graph_;
  Symbols& symbols_;
  std::unordered_map<std::string_view, dom::Item> tensors_, integers_;
  std::unordered_map<std::string_view, ValueId> made_;
  std::unordered_map<std::string_view, std::int64_t> known_;
};

Argument pt2_argument(GraphAssembler& out, const Pt2Frame& frame, std::string_view name, dom::Item item);
// {"as_int": 3} or {"as_name": "mul"}; nullopt where the file does not say what that is.
std::optional<std::int64_t> sym_value(const Pt2Frame& frame, dom::Item value);
// {"as_tensor": {"name": x}} and, in lists, {"name": x}; "" for what is no tensor.
std::string_view tensor_name(dom::Item item);
// The names of tensors in an argument or output, in order; "" stands for what is no tensor.
void collect_names(dom::Item item, std::vector<std::string_view>& names);

}  // namespace opscope
