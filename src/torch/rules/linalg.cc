// Factorisations, least squares and histograms that PyTorch has no meta kernel for. LAPACK's results lie
// column by column.
#include "torch/rules/layout.h"

namespace opscope::engine {

namespace {

// The leading dimensions of `tensor`, then `more`.
Sizes batched(const at::Tensor& tensor, std::int64_t trailing, std::initializer_list<std::int64_t> more) {
  Sizes sizes = copy_of(tensor.sizes().slice(0, static_cast<std::size_t>(tensor.dim() - trailing)));
  sizes.append(more.begin(), more.end());
  return sizes;
}

// Of matrices with their columns one after the other, `rows` apart.
Sizes column_strides(const Sizes& sizes, std::int64_t rows) {
  Sizes strides(sizes.size());
  const auto last = sizes.size() - 1;
  const auto least_one = [](std::int64_t size) { return std::max<std::int64_t>(size, 1); };
  strides[last] = least_one(rows);
  strides[last - 1] = 1;
  std::int64_t next = least_one(rows) * least_one(sizes[last]);
  for (auto i = last - 1; i-- > 0; next *= least_one(sizes[i])) strides[i] = next;
  return strides;
}

bool is_matrices(const at::Tensor* tensor) {
  return tensor && tensor->dim() >= 2 &&
         (c10::isFloatingType(tensor->scalar_type()) || c10::isComplexType(tensor->scalar_type()));
}

bool geqrf(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!is_matrices(self)) return false;
  const auto rows = self->size(-2), columns = self->size(-1);
  const Sizes sizes = sizes_of(*self);
  call.output(sizes, column_strides(sizes, rows), self->scalar_type());
  return call.output(batched(*self, 2, {std::min(rows, columns)}), self->scalar_type());
}

// self, b, rcond, driver. The matrices are taken to have full rank: a real run leaves the residuals out where
// they do not.
bool least_squares(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *b = call.tensor(1);
  if (!is_matrices(self) || !b || self->numel() == 0 || b->numel() == 0 ||
      self->scalar_type() != b->scalar_type())
    return false;
  const auto rows = self->size(-2), columns = self->size(-1), longer = std::max(rows, columns);
  const bool vector = b->dim() == self->dim() - 1;
  const Sizes batch = batched(*self, 2, {});
  if (vector ? sizes_of(*b) != batched(*self, 1, {})
             : b->dim() != self->dim() || batched(*b, 1, {}) != batched(*self, 1, {}))
    return false;
  const auto driver = call.none(3) ? std::string("gelsy") : call.at(3).toStringRef();
  const bool plain = driver == "gels", by_values = driver == "gelsd" || driver == "gelss";
  if (!plain && !by_values && driver != "gelsy") return false;
  const auto right_sides = vector ? 1 : b->size(-1);
  const auto dtype = self->scalar_type(), real = c10::toRealValueType(dtype);

  const Sizes solution = batched(*self, 2, {columns, right_sides});
  Sizes held = batched(*self, 2, {longer, right_sides});
  Sizes strides = column_strides(held, longer);
  if (vector) strides.pop_back();
  call.output(vector ? batched(*self, 2, {columns}) : solution, strides, dtype);
  const bool has_residuals = rows > columns && driver != "gelsy";
  call.output(has_residuals ? batched(*self, 2, {right_sides}) : Sizes{0}, real);
  call.output(plain ? Sizes{0} : batch, at::kLong);
  return call.output(by_values ? batched(*self, 2, {std::min(rows, columns)}) : Sizes{0}, real);
}

bool histogram_of_count(RuleCall& call) {  // self, bins, range, weight, density
  const at::Tensor* self = call.floats(0);
  const auto bins = call.integer(1);
  if (!self || bins <= 0) return false;
  call.output({bins}, self->scalar_type());
  return call.output({bins + 1}, self->scalar_type());
}

bool histogram_of_edges(RuleCall& call) {  // self, bins, weight, density
  const at::Tensor *self = call.floats(0), *edges = call.floats(1);
  if (!self || !edges || edges->dim() != 1 || edges->numel() < 2 ||
      edges->scalar_type() != self->scalar_type())
    return false;
  call.output({edges->numel() - 1}, self->scalar_type());
  return call.output(edges->sizes(), self->scalar_type());
}

// One number of bins, or one list of edges, for each column of self.
bool fits_columns(const at::Tensor* self, std::size_t count) {
  return self && self->dim() >= 2 && static_cast<std::size_t>(self->size(-1)) == count;
}

bool bin_edges(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  const Sizes bins = call.ints(1);
  if (!fits_columns(self, bins.size())) return false;
  c10::List<at::Tensor> edges;
  for (const auto count : bins) {
    if (count <= 0) return false;
    edges.push_back(call.make({count + 1}, {1}, self->scalar_type()));
  }
  return call.push(edges);
}

bool counted_bins(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  const Sizes bins = call.ints(1);
  return fits_columns(self, bins.size()) && !any_negative(bins) && call.output(bins, self->scalar_type());
}

bool given_bins(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  if (!call.at(1).isTensorList()) return false;
  Sizes bins;
  for (const at::Tensor& edges : call.at(1).toTensorList()) bins.push_back(edges.numel() - 1);
  return fits_columns(self, bins.size()) && !any_negative(bins) && call.output(bins, self->scalar_type());
}

constexpr ShapeRuleRow kRows[] = {
    {"aten::_histogramdd_bin_edges", "", bin_edges},
    {"aten::_histogramdd_from_bin_cts", "", counted_bins},
    {"aten::_histogramdd_from_bin_tensors", "", given_bins},
    {"aten::geqrf", "", geqrf},
    {"aten::histogram", "bin_ct", histogram_of_count},
    {"aten::histogram", "bins_tensor", histogram_of_edges},
    {"aten::linalg_lstsq", "", least_squares},
};

}  // namespace

std::span<const ShapeRuleRow> linalg_shape_rules() { return kRows; }

}  // namespace opscope::engine
