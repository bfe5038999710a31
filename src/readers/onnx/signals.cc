// ONNX's Fourier transforms and windows, and its ops on texts.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

// --- Fourier transforms. ONNX keeps real and imaginary parts beside each other, or the real ones alone, in a
// last dimension of two or one: seen as complex or real numbers, and back.

DType complex_of(DType dtype) {
  if (dtype == DType::kFloat64) return DType::kComplex128;
  return dtype == DType::kFloat16 ? DType::kComplex32 : DType::kComplex64;
}

// Without the last dimension.
struct Signal {
  ValueId id = kNone;
  Shape shape;
  bool is_complex = false;
};

std::optional<Signal> signal_of(OnnxCall& call) {
  Shape shape = call.shape(0);
  if (shape.size() < 2 || (shape.back() != 1 && shape.back() != 2)) return std::nullopt;
  const bool is_complex = shape.back() == 2;
  shape.pop_back();
  const auto id = is_complex ? call.op("aten::view_as_complex", {call.tensor("self", 0)},
                                       {shape, complex_of(call.dtype(0))})
                             : call.op("aten::squeeze", {call.tensor("self", 0)}, {shape});
  return Signal{id, std::move(shape), is_complex};
}

bool give_parts(OnnxCall& call, ValueId made, Shape shape, bool is_complex) {
  shape.push_back(is_complex ? 2 : 1);
  return call.answer(is_complex ? "aten::view_as_real" : "aten::unsqueeze", {call.tensor_of("self", made)},
                     {shape});
}

// The transformed axis: an attribute before opset 20, then an input. Where nobody knows it, the one whose
// size changes, else the longest: the transform of most work.
std::optional<std::size_t> transformed_axis(const OnnxCall& call, const Shape& shape, bool& is_known) {
  const auto* told = call.single_number(2);
  const auto rank = shape.size() + 1;  // axes are counted with the parts'
  if (call.opset() < 20) return axis_of(call.integer("axis", 1), rank);
  if (!call.has(2)) return axis_of(-2, rank);
  if (told != nullptr) return axis_of(told->integer(0), rank);
  const auto declared = call.declared_shape(0, false);
  for (std::size_t i = 0; declared && i < shape.size() && i < declared->size(); ++i)
    if ((*declared)[i] != shape[i]) return i;
  is_known = false;
  return static_cast<std::size_t>(std::ranges::max_element(shape) - shape.begin());
}

bool dft(OnnxCall& call, std::string_view) {
  const auto first = call.op_count();
  const auto signal = signal_of(call);
  if (!signal) return false;
  bool is_known = true;
  const auto axis = transformed_axis(call, signal->shape, is_known);
  if (!axis || *axis >= signal->shape.size()) return false;
  const bool is_half = call.integer("onesided", 0) != 0, is_back = call.integer("inverse", 0) != 0;
  const bool to_real = is_half && is_back;
  Shape shape = signal->shape;
  auto& size = shape[*axis];
  if (const auto* length = call.single_number(1))
    size = std::max<std::int64_t>(length->integer(0), 0);
  else if (to_real)
    size = clamp_size((__int128{size} - 1) * 2);
  if (is_half && !is_back) size = size / 2 + 1;
  auto declared = call.declared_shape(0, false);
  if (declared && declared->size() == shape.size() + 1) {
    declared->pop_back();
    shape = *declared;
  }
  const auto name = to_real   ? "aten::fft_irfft"
                    : is_half ? "aten::fft_rfft"
                    : is_back ? "aten::fft_ifft"
                              : "aten::fft_fft";
  const auto made = call.op(name, {call.tensor_of("self", signal->id), call.number("dim", *axis)},
                            {shape, to_real ? call.dtype(0) : complex_of(call.dtype(0))});
  call.mark(first, !is_known, false);
  return give_parts(call, made, shape, !to_real);
}

// [batch, samples, parts] -> [batch, frames, frequencies, 2]; PyTorch has the frequencies first.
bool stft(OnnxCall& call, std::string_view) {
  const auto signal = signal_of(call);
  if (!signal || signal->shape.size() != 2) return false;
  const bool is_half = call.integer("onesided", 1) != 0;
  const auto declared = call.declared_shape(0, false);
  const auto *step = call.single_number(1), *told = call.single_number(3);
  std::optional<std::int64_t> length;
  if (told != nullptr)
    length = told->integer(0);
  else if (call.has(2) && call.rank(2) == 1)
    length = call.dim(2, 0);
  else if (declared && declared->size() == 4)
    length = clamp_size(is_half ? (__int128{(*declared)[2]} - 1) * 2 : __int128{(*declared)[2]});
  if (!length || *length < 1) return false;
  std::optional<std::int64_t> frames;
  if (step != nullptr && step->integer(0) > 0) {
    const auto room = signal->shape[1] - *length;
    frames = room < 0 ? 0 : room / step->integer(0) + 1;
  } else if (declared && declared->size() == 4) {
    frames = (*declared)[1];
  }
  if (!frames) return false;
  const auto bins = is_half ? *length / 2 + 1 : *length;
  const auto batch = signal->shape[0];
  const auto dtype = complex_of(call.dtype(0));
  const auto made =
      call.op("aten::stft",
              {call.tensor_of("self", signal->id), call.number("n_fft", *length), call.tensor("window", 2)},
              {{batch, bins, *frames}, dtype});
  const auto turned =
      call.op("aten::transpose", {call.tensor_of("self", made)}, {{batch, *frames, bins}, dtype});
  return give_parts(call, turned, {batch, *frames, bins}, true);
}

// --- Windows and filters: as long as a number says

bool window(OnnxCall& call, std::string_view aten) {
  const auto* size = call.single_number(0);
  std::optional<Shape> shape;
  if (size != nullptr) shape = Shape{std::max<std::int64_t>(size->integer(0), 0)};
  shape = call.or_declared(shape);
  return shape && call.answer(aten, {}, {*shape, call.dtype_attribute("output_datatype", DType::kFloat32)});
}

bool mel_matrix(OnnxCall& call, std::string_view aten) {
  const auto *bins = call.single_number(0), *length = call.single_number(1);
  std::optional<Shape> shape;
  if (bins != nullptr && length != nullptr)
    shape = Shape{std::max<std::int64_t>(length->integer(0), 0) / 2 + 1,
                  std::max<std::int64_t>(bins->integer(0), 0)};
  shape = call.or_declared(shape);
  return shape && call.answer(aten, {}, {*shape, call.dtype_attribute("output_datatype", DType::kFloat32)});
}

// --- Texts

bool concat_texts(OnnxCall& call, std::string_view aten) {
  const auto shape = broadcast(call.shape(0), call.shape(1));
  return shape &&
         call.answer(aten, {call.tensor("self", 0), call.tensor("other", 1)}, {*shape, DType::kString});
}

// With stop words, fewer may come out: at most as many, and one where none are left.
bool normalise_texts(OnnxCall& call, std::string_view aten) {
  Shape shape = call.shape(0);
  const auto* stops = call.attribute("stopwords");
  const bool drops = stops != nullptr && stops->texts > 0;
  const auto first = call.op_count();
  const bool is_told = call.declared_shape(0, false).has_value();
  if (drops && !shape.empty()) shape.back() = std::max<std::int64_t>(shape.back(), 1);
  call.answer(aten, {call.tensor("self", 0)}, {shape, DType::kString});
  call.mark(first, drops && !is_told, false);
  return true;
}

// A list of parts for each text, as long as the longest, and how many parts each has.
bool split_texts(OnnxCall& call, std::string_view aten) {
  Shape parts = call.shape(0);
  const auto first = call.op_count();
  const auto limit = call.attribute("maxsplit") != nullptr ? call.integer("maxsplit", 0) : -1;
  const auto declared = call.declared_shape(0, false);
  parts.push_back(declared || limit < 0 ? 1 : clamp_size(__int128{limit} + 1));
  const OnnxOutput outputs[] = {call.settle(0, {parts, DType::kString}), {call.shape(0), DType::kInt64}};
  call.answer_all(aten, {call.tensor("self", 0)}, outputs);
  call.mark(first, !declared && limit >= 0, true);
  return true;
}

bool match(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0)}, {call.shape(0), DType::kBool});
}

// [places] or [batch, places] -> as many counts as there are n-grams, by their indices.
bool n_grams(OnnxCall& call, std::string_view aten) {
  const auto indexes = call.integers("ngram_indexes");
  const auto least = call.integer("min_gram_length", 1), most = call.integer("max_gram_length", 1);
  const auto skips = call.integer("max_skip_count", 0);
  if (indexes.empty() || call.shape(0).empty() || most < least || skips < 0) return false;
  Shape shape = call.shape(0);
  shape.back() = clamp_size(__int128{std::ranges::max(indexes)} + 1);
  const auto grams = clamp_size((__int128{most} - least + 1) * (__int128{skips} + 1));
  return call.answer(
      aten, {call.tensor("self", 0), call.number("grams", grams), call.number("keys", indexes.size())},
      {shape, DType::kFloat32});
}

constexpr auto kSignalRules = std::to_array<OnnxRule>({
    {"BlackmanWindow", window, "aten::blackman_window"},
    {"DFT", dft},
    {"HammingWindow", window, "aten::hamming_window"},
    {"HannWindow", window, "aten::hann_window"},
    {"MelWeightMatrix", mel_matrix, "onnx::MelWeightMatrix", 2},
    {"RegexFullMatch", match, "onnx::RegexFullMatch"},
    {"STFT", stft, {}, 2},
    {"StringConcat", concat_texts, "onnx::StringConcat", 2},
    {"StringNormalizer", normalise_texts, "onnx::StringNormalizer"},
    {"StringSplit", split_texts, "onnx::StringSplit"},
    {"TfIdfVectorizer", n_grams, "onnx::TfIdfVectorizer"},
});
static_assert(std::ranges::is_sorted(kSignalRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_signal_rules() { return kSignalRules; }

}  // namespace opscope
