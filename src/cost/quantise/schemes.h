// How quantised weights are stored: the one table of schemes, and the bytes that a weight takes by each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/count.h"

namespace opscope {

// What shares one scale. Groups lie along the input features of each output feature, or, where they are flat,
// along memory.
struct StorageScheme {
  std::string_view name;
  std::uint32_t bits = 8;
  std::uint32_t scale_bytes = 0, zero_point_bits = 0;
  std::int64_t group = 0;          // weights with one scale, by default; 0: an output channel
  bool is_flat = false;            // its last group may be a short one
  bool has_fixed_group = false;    // by the format
  bool may_be_tiles = false;       // one scale for a square of weights: tile=128
  bool may_have_bits = false;      // bits=3
  bool may_be_symmetric = false;   // zero=false: without zero points
  std::uint32_t scale_group = 0;   // scales that share a scale of their own, of 4 bytes; 0: they have none
  std::uint32_t index_bytes = 0;   // for each input feature
  std::uint32_t tensor_bytes = 0;  // for each weight tensor
  std::uint32_t flops = 0;         // to dequantise an element, zero point and all
  std::string_view scales;         // in words: "float32 scale"
  std::string_view as_in;          // whose layout it is
};

std::span<const StorageScheme> storage_schemes();  // by name

// A row with what the user chose of it.
struct StorageChoice {
  static constexpr std::int64_t kTensor = -1;  // as a group: the whole tensor has one scale

  const StorageScheme* scheme = nullptr;
  std::int64_t group = 0;
  std::int64_t tile = 0;  // side of a square with one scale; 0: groups
  std::uint32_t bits = 0;
  bool has_second_scales = false, has_zero_points = false;

  std::uint32_t flops() const;  // to dequantise an element
  std::string text() const;     // "int4:group=64"; "int4" where all is as by default
  std::string words() const;    // "4 bits, and a float16 scale and zero point for 128 input features"
};

// Reads "int4" or "int4:group=64". Throws Error in the words of `where`, the flag.
StorageChoice storage_choice(std::string_view text, const std::string& where);

// A weight tensor: `matrices` of them (the experts of a layer), each `in` by `out` features.
struct WeightSize {
  Count matrices = 1, in, out;
  Count elements() const { return matrices * in * out; }
};

bool divides(const StorageChoice& choice, const WeightSize& size);
Count stored_bytes(const StorageChoice& choice, const WeightSize& size);

}  // namespace opscope
