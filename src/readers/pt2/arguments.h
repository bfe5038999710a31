// The arguments of an exported program's nodes, from PyTorch's tagged unions to the graph's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/capture/graph_assembler.h"
#include "readers/json/dom.h"
#include "readers/pt2/values.h"

namespace opscope {

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
