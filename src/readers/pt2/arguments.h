// The arguments of an exported program's nodes, from PyTorch's tagged unions to the graph's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "readers/capture/graph_assembler.h"
#include "readers/json/dom.h"
#include "readers/pt2/symbols.h"

namespace opscope {

// The values of an exported program: tensor metas and symbolic integers by name, one table per (sub)graph.

// By schema.py's ScalarType. kUndefined for a number that is none of them.
DType pt2_dtype(std::int64_t scalar_type);

// One graph of the program: names are its own.
class Pt2Frame {
 public:
  Pt2Frame(dom::Item graph, Symbols& symbols);

  dom::Item graph() const { return graph_; }
  ValueSpec spec(std::string_view name) const;  // of the tensor of that name, from the file's meta
  bool requires_grad(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;  // a symbolic integer's value
  // {"as_int": 3} or {"as_expr": {"expr_str": ..}}; 1 where a symbol is missing, which Symbols remembers.
  std::int64_t sym_int(dom::Item item) const;

  ValueId tensor(std::string_view name) const;  // throws where nothing made it
  bool has_tensor(std::string_view name) const { return made_.contains(name); }
  void make(std::string_view name, ValueId id) { made_.insert_or_assign(name, id); }
  void set_integer(std::string_view name, std::int64_t value) { known_.insert_or_assign(name, value); }
  // Notes which dimension of which input each lone symbol is.
  void describe_dims(std::string_view name) const;

 private:
  const dom::Item* meta(std::string_view name) const;

  dom::Item graph_;
  Symbols& symbols_;
  std::unordered_map<std::string_view, dom::Item> tensors_, integers_;
  std::unordered_map<std::string_view, ValueId> made_;
  std::unordered_map<std::string_view, std::int64_t> known_;
};

class Pt2Arguments {
 public:
  explicit Pt2Arguments(GraphAssembler& out) : out_(out) {}

  Argument argument(Pt2Frame& frame, std::string_view name, dom::Item item);
  // {"as_int": 3} or {"as_name": "mul"}; nullopt where the file does not say what that is.
  std::optional<std::int64_t> sym_value(Pt2Frame& frame, dom::Item value) const;
  // The names of tensors in an argument or output, in order; "" stands for what is no tensor.
  void collect_names(dom::Item item, std::vector<std::string_view>& names) const;

  // Of the arguments since it was last set to false: a dropout's "train" or a cast's "copy" is true, so that
  // the op will not return its input.
  bool flag = false;

 private:
  Argument boolean(std::string_view name, dom::Item value);
  static double real(dom::Item value);
  Argument tensor_list(Pt2Frame& frame, std::string_view name, dom::Item value);
  Argument int_list(std::string_view name, dom::Item value);
  Argument bool_list(std::string_view name, dom::Item value);
  Argument float_list(std::string_view name, dom::Item value);
  Argument sym_int(Pt2Frame& frame, std::string_view name, dom::Item value);
  Argument sym_int_list(Pt2Frame& frame, std::string_view name, dom::Item value);

  GraphAssembler& out_;
};

}  // namespace opscope
