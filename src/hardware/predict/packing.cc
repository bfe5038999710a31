// The bytes: what is small, one after the other, to be copied; then for each family what is used in place.
#include "hardware/predict/packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "hardware/predict/fit.h"
#include "hardware/predict/forest.h"
#include "hardware/predict/measured_ops.h"
#include "hardware/predict/packed_bytes.h"

namespace opscope {
namespace {

// What a calibration says beside its calls, for writing and for reading. `Archive`: HeadWriter, HeadReader.
template <class Archive>
void each_field(Archive& archive, auto& calibration) {
  archive(calibration.device, calibration.device_name, calibration.kind, calibration.threads);
  archive(calibration.is_measured, calibration.gaps);
  archive.list(calibration.facts, [&](auto& fact) { archive(fact.first, fact.second); });
  archive.list(calibration.families, [&](auto& rates) {
    archive(rates.family, rates.dtype, rates.group, rates.flop_rate, rates.byte_rate, rates.step_rate,
            rates.seconds, rates.spread, rates.points, rates.error_median, rates.error_p90, rates.source);
  });
  archive.list(calibration.likenesses, [&](auto& likeness) {
    archive(likeness.family, likeness.sizes, likeness.kinds, likeness.op, likeness.width, likeness.dtype,
            likeness.spread, likeness.noise, likeness.trees, likeness.both);
  });
  auto& host = calibration.host;
  archive(host.op, host.module_call, host.dispatch, host.view, host.slice, host.gradient, host.backward_op,
          host.backward_view, host.parameter, host.launch, host.synchronise, host.step, host.pace,
          host.source);
  archive.list(calibration.host_ops, [&](auto& op) { archive(op.first, op.second); });
  auto& runs = calibration.runs;
  archive(runs.count, runs.spread, runs.host_spread, runs.error_median, runs.error_p90, runs.source);
}

class HeadWriter {
 public:
  void operator()(const auto&... fields) { (add(fields), ...); }
  template <class T>
  void list(const std::vector<T>& items, auto each) {
    add(items.size());
    for (const T& item : items) each(item);
  }
  std::vector<char> take() { return std::move(bytes_); }

 private:
  template <class T>
  void add(const T& field) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* begin = reinterpret_cast<const char*>(&field);
    bytes_.insert(bytes_.end(), begin, begin + sizeof field);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }

  std::vector<char> bytes_;
};

class HeadReader {
 public:
  explicit HeadReader(std::string_view bytes) : rest_(bytes) {}

  void operator()(auto&... fields) { (take(fields), ...); }
  template <class T>
  void list(std::vector<T>& items, auto each) {
    std::size_t count = 0;
    take(count);
    items.resize(count);
    for (T& item : items) each(item);
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view next(std::size_t size) {
    OPSCOPE_CHECK(size <= rest_.size());
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  template <class T>
  void take(T& field) {
    const std::string_view bytes = next(sizeof field);
    std::memcpy(&field, bytes.data(), bytes.size());
  }
  void take(std::string& text) {
    std::size_t size = 0;
    take(size);
    text = next(size);
  }

  std::string_view rest_;
};

std::size_t aligned(std::size_t size) {
  return (size + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

// By which size calls that are alike else lie furthest apart.
std::uint8_t telling_size(std::span<const Neighbour* const> calls, const Likeness& likeness) {
  double most = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < OpFeatures::kSizes; ++i) {
    double sum = 0, squares = 0;
    for (const Neighbour* call : calls) {
      const auto size = static_cast<double>(call->features.sizes[i]);
      sum += size, squares += size * size;
    }
    const double apart = likeness.sizes[i] * (squares - sum * sum / static_cast<double>(calls.size()));
    if (apart > most) most = apart, found = i;
  }
  return static_cast<std::uint8_t>(found);
}

std::vector<char> pack_ops(std::span<const MeasuredCall> calls, std::span<const Neighbour> ops,
                           const Likeness& likeness) {
  std::vector<const Neighbour*> in_order;
  for (const Neighbour& op : ops) in_order.push_back(&op);
  const auto kin_of = [](const Neighbour* op) {
    return std::tuple(op->features.op, op->features.dtype, op->features.kind);
  };
  std::ranges::stable_sort(in_order, {}, kin_of);
  std::vector<OpKin> kin;
  for (std::size_t first = 0, end = 0; first < in_order.size(); first = end) {
    while (end < in_order.size() && kin_of(in_order[end]) == kin_of(in_order[first])) ++end;
    const auto own = std::span(in_order).subspan(first, end - first);
    const OpFeatures& any = own.front()->features;
    const std::uint8_t order = telling_size(own, likeness);
    kin.push_back({.op = any.op,
                   .kind = any.kind,
                   .first = static_cast<std::uint32_t>(first),
                   .count = static_cast<std::uint32_t>(own.size()),
                   .dtype = any.dtype,
                   .order = order});
    std::ranges::stable_sort(own, {}, [&](const Neighbour* op) { return op->features.sizes[order]; });
  }
  std::vector<OpSizes> sizes;
  std::vector<double> misses;
  std::vector<std::uint32_t> places;
  for (const Neighbour* op : in_order) {
    sizes.push_back(op->features.sizes), misses.push_back(op->miss);
    places.push_back(static_cast<std::uint32_t>(op->call));
  }
  std::vector<std::pair<std::uint64_t, const MeasuredCall*>> by_key;
  for (const Neighbour& op : ops) by_key.emplace_back(call_key(calls[op.call].text), &calls[op.call]);
  std::ranges::stable_sort(by_key, {},
                           &decltype(by_key)::value_type::first);  // of equal calls the first is found
  std::vector<std::uint64_t> keys;
  std::vector<MeasuredTime> times;
  for (const auto& [key, call] : by_key) {
    keys.push_back(key);
    times.push_back({call->seconds, call->deviation, call->host_seconds});
  }
  MeasuredOps packed;
  packed.sizes = sizes, packed.misses = misses, packed.places = places, packed.kin = kin;
  packed.keys = keys, packed.times = times;
  return packed.packed();
}

}  // namespace

PackedCalls pack_family(const Calibration& calibration, OpFamily family) {
  PackedCalls packed;
  const Likeness* likeness = calibration.likeness(family);
  if (likeness == nullptr) return packed;  // none of its calls speaks for others
  const std::vector<MeasuredCall> calls = calibration.calls(family);
  packed.ops = pack_ops(calls, neighbours_of(calls, calibration), *likeness);
  if (const std::string& text = calibration.forests[static_cast<std::size_t>(family)]; !text.empty())
    packed.trees = Forest::read(text).packed();
  return packed;
}

std::vector<char> pack(const Calibration& calibration) {
  std::array<PackedCalls, kFamilies> families;
  HeadWriter head;
  each_field(head, calibration);
  head(static_cast<std::uint32_t>(calibration.measured_calls()));
  for (std::size_t i = 0; i < kFamilies; ++i) {
    families[i] = pack_family(calibration, static_cast<OpFamily>(i));
    head(families[i].ops.size(), families[i].trees.size());
  }
  std::vector<char> bytes = head.take();
  for (const PackedCalls& family : families)
    for (const std::vector<char>* part : {&family.ops, &family.trees}) {
      bytes.resize(aligned(bytes.size()));
      bytes.insert(bytes.end(), part->begin(), part->end());
    }
  return bytes;
}

Calibration unpack_calibration(std::string_view packed) {
  Calibration calibration;
  HeadReader head(packed);
  each_field(head, calibration);
  head(calibration.packed_calls);
  std::array<std::array<std::size_t, 2>, kFamilies> sizes{};
  head(sizes);
  std::size_t end = packed.size() - head.rest().size();
  for (std::size_t i = 0; i < kFamilies; ++i) {
    PackedFamily& family = calibration.packed[i];
    for (const auto& [part, size] :
         {std::pair{&family.ops, sizes[i][0]}, std::pair{&family.trees, sizes[i][1]}}) {
      *part = packed.substr(aligned(end), size);
      end = aligned(end) + size;
    }
  }
  OPSCOPE_CHECK(end == packed.size());
  return calibration;
}

}  // namespace opscope
