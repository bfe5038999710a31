// A model at many sizes: what is asked, what each point costs, and which points were captured, which worked
// out by polynomials that captures confirmed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/profile/profile.h"
#include "analyse/sweep/surface.h"

namespace opscope {

inline constexpr std::int64_t kImageStep = 32;  // what strides of networks, and patches, divide

// What varies, and which values it takes.
struct SweepAxis {
  std::string name;  // "batch", "seq_len", "image_size", "past_len", "dtype", or a dimension of a file
  std::vector<std::int64_t> numbers;  // for dtypes and images that are not square: their places in the list
  std::vector<std::string> texts;     // as shown: "8", "480x640", "bfloat16"
  bool numeric = true;

  std::size_t size() const { return texts.size(); }
  std::string text_of(std::int64_t number) const {
    return numeric ? std::to_string(number) : texts[static_cast<std::size_t>(number)];
  }
};
SweepAxis numeric_axis(std::string name, std::vector<std::int64_t> numbers);
// Whether its values are words: a dtype, an optimizer.
bool is_worded(std::string_view name);
SweepAxis worded_axis(std::string name, std::vector<std::string> texts);
// As people write it: see parse_value_list; dtypes and images that are not square are words. Throws Error.
SweepAxis axis_from_text(const std::string& name, const char* flag, std::string_view text);
// {480, 640} of "480x640"; nothing where it is not that.
std::vector<std::int64_t> sides_of(std::string_view text);

// For each axis the number, also one that is not in its list: turning points lie between.
using SweepPlace = std::vector<std::int64_t>;

enum class SweepState : std::uint8_t { kNotDone, kCaptured, kFitted, kFailed };
std::string_view name(SweepState state);  // "captured", "fitted", "failed"

struct SweepPoint {
  bool has_figures() const { return state == SweepState::kCaptured || state == SweepState::kFitted; }

  SweepState state = SweepState::kNotDone;
  std::string problem;  // why it has no figures
  SweepFigures figures;
};

enum class SweepWay : std::uint8_t { kAuto, kCapture, kPolynomial };
inline constexpr std::size_t kFitFrom = 40;  // points, where the way is left to opscope
inline constexpr std::size_t kMostPoints = 1'000'000;
inline constexpr std::size_t kMostTimed =
    4096;  // points whose time is predicted where polynomials tell the rest

struct SweepOptions {
  ProfileOptions profile{};
  std::vector<ProfileOptions> others{};  // further devices, for predicted times
  SweepWay way = SweepWay::kAuto;
};

// Captures these places, in this order, telling of each as it is there: a graph, or nullptr and the problem.
using SweepGiven = std::function<void(std::size_t index, const Graph* graph, const std::string& problem)>;
using SweepCapture = std::function<void(std::span<const SweepPlace> places, const SweepGiven& give)>;

struct SweepResult {
  std::string model, source, inputs;  // inputs: of the first point that was captured
  std::vector<SweepAxis> axes;
  SweepOptions options;
  std::vector<SweepPoint> points;  // every combination, the last axis fastest
  std::vector<SweepSurface> surfaces;
  std::size_t captures = 0;   // of points asked for, of others that fits and limits needed
  std::size_t confirmed = 0;  // captures that polynomials were checked against, and not made from
  std::vector<std::string> notes;
  std::vector<std::string> time_notes;                               // what predicted times rest on
  std::vector<std::unordered_map<std::int64_t, std::size_t>> index;  // by axis: a number's place in it

  SweepPlace place(std::size_t point) const;
  std::optional<std::size_t> point_at(const SweepPlace& place) const;  // nullopt: there is no such point
  std::string text_of(const SweepPlace& place, std::size_t axis) const {
    return axes[axis].text_of(place[axis]);
  }
  std::size_t count(SweepState state) const;
  // Whose times each point has.
  std::size_t devices() const { return options.profile.hardware ? 1 + options.others.size() : 0; }
  const Device& device(std::size_t number) const {
    return *(number == 0 ? options.profile : options.others[number - 1]).hardware;
  }
  // Of one of the points, or of a polynomial that holds there; nullopt where neither is known.
  std::optional<SweepFigures> at(const SweepPlace& place) const;
};

// Every combination of one item of each list, the last list fastest.
template <class Item>
std::vector<std::vector<Item>> combinations(const std::vector<std::vector<Item>>& lists) {
  std::vector<std::vector<Item>> rows(1);
  for (const std::vector<Item>& list : lists) {
    std::vector<std::vector<Item>> longer;
    longer.reserve(rows.size() * list.size());
    for (const std::vector<Item>& row : rows)
      for (const Item& item : list) longer.emplace_back(row).push_back(item);
    rows = std::move(longer);
  }
  return rows;
}

struct SweepCell;

// Runs a sweep. What is done stays in result() where the capture throws on the way.
class Sweep {
 public:
  Sweep(std::vector<SweepAxis> axes, const SweepOptions& options);
  void run(const SweepCapture& capture);
  // Further points, where no polynomial tells them: for turning points between two values.
  std::optional<SweepFigures> capture_one(const SweepPlace& place, const SweepCapture& capture);
  const SweepResult& result() const { return result_; }
  bool uses_polynomials() const { return by_polynomials_; }

 private:
  struct Known {
    std::optional<SweepSample> sample;     // nullopt: it failed
    std::shared_ptr<const Graph> graph{};  // where times are asked for
    SweepPoint point;
  };

  void capture_all(std::span<const SweepPlace> places, const SweepCapture& capture);
  SweepPoint& point_at(const SweepPlace& place) { return result_.points[result_.point_at(place).value()]; }
  void run_cell(SweepCell cell, const SweepCapture& capture);
  bool tell_cell(const SweepCell& cell, const SweepCapture& capture);
  void cut_at_limits(SweepCell& cell, const SweepCapture& capture);
  bool fit_cell(const SweepCell& cell, std::uint32_t more, const SweepCapture& capture);
  std::optional<SweepSurface> surface_of(const SweepCell& cell, std::uint32_t more);
  void learn_from_captures();

  SweepResult result_;
  bool by_polynomials_ = false;
  std::map<SweepPlace, Known> known_;
};

// Lists of values as people write them on the command line: `1,2,4`, `1,2,4,..,256`, `128:4096:x2`,
// `16:512:+16`, `16:512`.
//
// In the order written, each once. `..` goes on as the list began: by a factor where each of the three values
// before it is as many times the one before, else by a step. A range takes every value, or goes on by `xN` or
// `+N` as far as its end allows. Throws Error naming the flag.
std::vector<std::int64_t> parse_value_list(const char* flag, std::string_view text, std::int64_t least = 1);

}  // namespace opscope
