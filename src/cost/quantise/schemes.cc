// Sources of the rows: bitsandbytes (int8 with a float32 scale for each row; nf4 and fp4 in groups of 64
// whose scales are quantised again in groups of 256), torchao's tinygemm layout (int4), the files of GPTQ and
// AWQ, the OCP microscaling formats (mxfp4), and per-channel fp8 as compressed-tensors and vLLM have it.
#include "cost/quantise/schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

// The 16 values of a 4-bit code and one offset, in float32: what bitsandbytes keeps with each tensor.
constexpr std::uint32_t kCodeBytes = 17 * 4;

constexpr std::array kSchemes{
    StorageScheme{.name = "awq",
                  .bits = 4,
                  .scale_bytes = 2,
                  .zero_point_bits = 4,
                  .group = 128,
                  .flops = 2,
                  .scales = "a float16 scale and a 4-bit zero point",
                  .as_in = "files of AWQ"},
    StorageScheme{.name = "fp4",
                  .bits = 4,
                  .scale_bytes = 1,
                  .group = 64,
                  .is_flat = true,
                  .scale_group = 256,
                  .tensor_bytes = kCodeBytes,
                  .flops = 1,
                  .scales = "an 8-bit scale (a float32 one for 256 of these)",
                  .as_in = "bitsandbytes"},
    StorageScheme{.name = "fp8",
                  .bits = 8,
                  .scale_bytes = 4,
                  .may_be_tiles = true,
                  .flops = 1,
                  .scales = "a float32 scale",
                  .as_in = "compressed-tensors; DeepSeek-V3 with tile=128"},
    StorageScheme{.name = "gptq",
                  .bits = 4,
                  .scale_bytes = 2,
                  .zero_point_bits = 4,
                  .group = 128,
                  .may_have_bits = true,
                  .index_bytes = 4,
                  .flops = 2,
                  .scales = "a float16 scale and a zero point",
                  .as_in = "files of GPTQ"},
    StorageScheme{.name = "int4",
                  .bits = 4,
                  .scale_bytes = 2,
                  .zero_point_bits = 16,
                  .group = 128,
                  .may_be_symmetric = true,
                  .flops = 2,
                  .scales = "a 16-bit scale and a 16-bit zero point",
                  .as_in = "torchao"},
    StorageScheme{.name = "int8",
                  .bits = 8,
                  .scale_bytes = 4,
                  .flops = 1,
                  .scales = "a float32 scale",
                  .as_in = "bitsandbytes"},
    StorageScheme{.name = "mxfp4",
                  .bits = 4,
                  .scale_bytes = 1,
                  .group = 32,
                  .has_fixed_group = true,
                  .flops = 1,
                  .scales = "an 8-bit exponent",
                  .as_in = "OCP microscaling formats"},
    StorageScheme{.name = "nf4",
                  .bits = 4,
                  .scale_bytes = 1,
                  .group = 64,
                  .is_flat = true,
                  .scale_group = 256,
                  .tensor_bytes = kCodeBytes,
                  .flops = 1,
                  .scales = "an 8-bit scale (a float32 one for 256 of these)",
                  .as_in = "bitsandbytes"},
};
static_assert(std::ranges::is_sorted(kSchemes, {}, &StorageScheme::name));

constexpr std::uint32_t kSecondScaleBytes = 4;

Count divided_up(Count count, Count by) { return (count + by - Count{1}) / by; }

// Reads one NAME=VALUE behind the scheme's name.
class Option {
 public:
  Option(StorageChoice& choice, const std::string& where, std::string_view text)
      : choice_(choice), where_(where), text_(text) {}

  void read() {
    const auto equals = text_.find('=');
    if (equals == std::string_view::npos) fail("'" + std::string(text_) + "' is not NAME=VALUE");
    name_ = text_.substr(0, equals), value_ = text_.substr(equals + 1);
    if (name_ == "group") return group();
    if (name_ == "tile") return tile();
    if (name_ == "bits") return bits();
    if (name_ == "double") return second_scales();
    if (name_ == "zero") return zero_points();
    throw Error("no option of a quantisation is called '" + std::string(name_) + "'", where_,
                did_you_mean(name_, options(), "it has " + one_of(options())));
  }

 private:
  static std::span<const std::string_view> options() {
    static constexpr std::array<std::string_view, 5> kOptions{"bits", "double", "group", "tile", "zero"};
    return kOptions;
  }
  const StorageScheme& scheme() const { return *choice_.scheme; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(what, where_, fmt::format("for example {} int4:group=64", where_));
  }
  [[noreturn]] void fail_not_chosen() const {
    throw Error(fmt::format("{} has no {} to choose", scheme().name, name_), where_,
                "leave it out: " + choice_.words());
  }
  std::int64_t number(std::int64_t least) const {
    const auto read = number_from<std::int64_t>(value_);
    if (!read || *read < least || *read > 1'000'000)
      fail(fmt::format("a {} of '{}' is not possible", name_, value_));
    return *read;
  }
  void group() {
    if (scheme().has_fixed_group) fail_not_chosen();
    const bool by_channel = scheme().group == 0;
    if (value_ == "tensor" && by_channel)
      choice_.group = StorageChoice::kTensor;
    else if (value_ == "channel" && !scheme().is_flat)
      choice_.group = 0;
    else
      choice_.group = number(1);
    if (scheme().is_flat && (choice_.group < 32 || choice_.group > 4096 ||
                             !std::has_single_bit(static_cast<std::uint64_t>(choice_.group))))
      throw Error(fmt::format("{} has no groups of {}", scheme().name, value_), where_,
                  "they are a power of two from 32 to 4096");
  }
  void tile() {
    if (!scheme().may_be_tiles) fail_not_chosen();
    choice_.tile = number(2);
  }
  void bits() {
    if (!scheme().may_have_bits) fail_not_chosen();
    static constexpr std::array<std::int64_t, 4> kBits{2, 3, 4, 8};
    const std::int64_t read = number(1);
    if (std::ranges::find(kBits, read) == kBits.end())
      throw Error(fmt::format("{} has no {} bits", scheme().name, read), where_, "it has 2, 3, 4 or 8");
    choice_.bits = static_cast<std::uint32_t>(read);
  }
  void second_scales() {
    if (scheme().scale_group == 0) fail_not_chosen();
    if (value_ != "true" && value_ != "false") fail("double is true or false");
    choice_.has_second_scales = value_ == "true";
  }
  void zero_points() {
    if (!scheme().may_be_symmetric) fail_not_chosen();
    if (value_ != "true" && value_ != "false") fail("zero is true or false");
    choice_.has_zero_points = value_ == "true";
  }

  StorageChoice& choice_;
  const std::string& where_;
  std::string_view text_, name_, value_;
};

StorageChoice by_default(const StorageScheme& scheme) {
  return {.scheme = &scheme,
          .group = scheme.group,
          .tile = 0,
          .bits = scheme.bits,
          .has_second_scales = scheme.scale_group != 0,
          .has_zero_points = scheme.zero_point_bits != 0};
}

// How many scales there are.
Count groups_of(const StorageChoice& choice, const WeightSize& size) {
  if (choice.tile != 0)
    return size.matrices * divided_up(size.in, choice.tile) * divided_up(size.out, choice.tile);
  if (choice.group == StorageChoice::kTensor) return size.matrices;
  if (choice.group == 0) return size.matrices * size.out;
  if (choice.scheme->is_flat) return divided_up(size.elements(), choice.group);
  return size.matrices * size.out * divided_up(size.in, choice.group);
}

}  // namespace

std::span<const StorageScheme> storage_schemes() { return kSchemes; }

std::string StorageChoice::text() const {
  std::string text(scheme->name);
  if (bits != scheme->bits) text += fmt::format(":bits={}", bits);
  if (tile != 0) text += fmt::format(":tile={}", tile);
  if (group != scheme->group) {
    text += ":group=";
    text += group == kTensor ? "tensor" : group == 0 ? "channel" : std::to_string(group);
  }
  if (!has_second_scales && scheme->scale_group != 0) text += ":double=false";
  if (!has_zero_points && scheme->zero_point_bits != 0) text += ":zero=false";
  return text;
}

std::string StorageChoice::words() const {
  const std::string_view scales = !has_second_scales && scheme->scale_group != 0     ? "a float32 scale"
                                  : !has_zero_points && scheme->zero_point_bits != 0 ? "a 16-bit scale"
                                                                                     : scheme->scales;
  const std::string each = tile != 0          ? fmt::format("{} x {} weights", tile, tile)
                           : group == kTensor ? "each tensor"
                           : group == 0       ? "each output channel"
                           : scheme->is_flat  ? fmt::format("{} weights", group)
                                              : fmt::format("{} input features", group);
  return fmt::format("{} bits, and {} for {}", bits, scales, each);
}

StorageChoice storage_choice(std::string_view text, const std::string& where) {
  const auto parts = split_by(text, ':');
  std::vector<std::string_view> names;
  for (const StorageScheme& scheme : kSchemes) names.push_back(scheme.name);
  const auto found = std::ranges::find(kSchemes, parts.front(), &StorageScheme::name);
  if (found == kSchemes.end())
    throw Error("no quantisation called '" + std::string(parts.front()) + "'", where,
                did_you_mean(parts.front(), names, "choose " + one_of(names) + ", or published or none"));
  StorageChoice choice = by_default(*found);
  for (std::size_t i = 1; i < parts.size(); ++i) Option(choice, where, parts[i]).read();
  if (choice.tile != 0 && choice.group != choice.scheme->group)
    throw Error("scales are for groups or for tiles", where, "leave out one of group= and tile=");
  return choice;
}

std::uint32_t StorageChoice::flops() const {
  return scheme->flops - (!has_zero_points && scheme->zero_point_bits != 0 ? 1 : 0);
}

bool divides(const StorageChoice& choice, const WeightSize& size) {
  if (choice.tile != 0 || choice.group <= 0 || choice.scheme->is_flat) return true;
  return size.in.value() % static_cast<std::uint64_t>(choice.group) == 0;
}

Count stored_bytes(const StorageChoice& choice, const WeightSize& size) {
  const StorageScheme& scheme = *choice.scheme;
  const Count groups = groups_of(choice, size);
  const Count zero_point_bits = !choice.has_zero_points ? Count{}
                                : scheme.may_have_bits  ? Count{choice.bits}
                                                        : Count{scheme.zero_point_bits};
  Count bytes = divided_up(size.elements() * Count{choice.bits}, 8);
  if (scheme.scale_group == 0)
    bytes += groups * Count{scheme.scale_bytes};
  else if (choice.has_second_scales)
    bytes += groups * Count{scheme.scale_bytes} +
             divided_up(groups, scheme.scale_group) * Count{kSecondScaleBytes};
  else
    bytes += groups * Count{kSecondScaleBytes};
  bytes += divided_up(groups * zero_point_bits, 8);
  return bytes + size.matrices * size.in * Count{scheme.index_bytes} + Count{scheme.tensor_bytes};
}

}  // namespace opscope
