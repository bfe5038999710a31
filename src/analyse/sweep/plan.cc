// Plans a sweep: every point a capture, or, block by block, the captures that polynomials are made from and
// checked against. Whatever a polynomial cannot tell is captured.
#include <algorithm>
#include <array>
#include <cmath>

#include "analyse/profile/figures.h"
#include "analyse/sweep/sweep.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {

constexpr std::size_t kWorthHalving = 4;  // times the captures that a polynomial takes: else all are captured

using Numbers = std::vector<std::int64_t>;

// A block of a sweep's points that one polynomial may tell: one dtype, image sizes that leave the same rest
// by 32 (strides and patches divide them alike), and ones apart from what is larger, since views and copies
// differ there.
struct SweepCell {
  // A part of an axis.
  struct Stretch {
    const SweepAxis* axis = nullptr;
    Numbers values{};                  // from small to large
    std::int64_t step = 1, least = 0;  // how far apart places are where it holds, and down to where

    // What a polynomial is made from: of the highest power that is expected, and `more`. Attention squares
    // the length, which is itself the square of a side.
    Numbers nodes(std::uint32_t more) const {
      const std::size_t degree = axis->name == "image_size" ? 4 : 2;
      Numbers first = values;
      first.resize(std::min(first.size(), degree + 1 + more));
      return first;
    }
  };

  std::vector<Stretch> parts;  // by axis

  // Every combination of what `pick` takes of each part.
  template <class Pick>
  std::vector<SweepPlace> all(Pick pick) const {
    std::vector<Numbers> lists;
    for (const Stretch& part : parts) lists.push_back(pick(part));
    return combinations(lists);
  }
  std::vector<SweepPlace> places() const { return all(std::mem_fn(&Stretch::values)); }
  std::vector<SweepPlace> nodes(std::uint32_t more) const {
    return all([&](const Stretch& part) { return part.nodes(more); });
  }
  std::size_t count() const {
    std::size_t count = 1;
    for (const Stretch& part : parts) count *= part.values.size();
    return count;
  }
  // The lowest place, but for one axis.
  SweepPlace lowest(std::size_t axis, std::int64_t value) const {
    SweepPlace place;
    for (const Stretch& part : parts) place.push_back(part.values.front());
    place[axis] = value;
    return place;
  }

  // Places that are no nodes: the corners, and some in between.
  std::vector<SweepPlace> checks() const {
    const std::size_t most = count() > 400 ? 16 : 8;
    const auto made_from = nodes(0);
    std::vector<SweepPlace> places;
    const auto add = [&](const SweepPlace& place) {
      const bool is_new = std::ranges::find(places, place) == places.end();
      if (is_new && std::ranges::find(made_from, place) == made_from.end()) places.push_back(place);
    };
    const auto corners =  // the far one first
        all([](const Stretch& part) {
          return Numbers{part.values.back(), part.values.front()};
        });
    for (std::size_t k = 0; k < std::min(corners.size(), most / 2); ++k) add(corners[k]);
    for (std::size_t k = 1; k < most; ++k) {
      SweepPlace place;  // 0.618 of the way on each time, an axis later than another
      for (const Stretch& part : parts)
        place.push_back(
            part.values[(k * (618 + 137 * place.size()) * part.values.size() / 1000) % part.values.size()]);
      add(place);
    }
    if (places.size() > most) places.resize(most);
    return places;
  }

  // In two, across the axis that has the most values: what is larger of two sizes changes once, and mostly
  // where sizes are small, so the cut is at the geometric mean.
  std::array<SweepCell, 2> halves() const {
    const auto longest =
        std::ranges::max_element(parts, {}, [](const Stretch& part) { return part.values.size(); });
    const Numbers& values = longest->values;
    const double mean = std::sqrt(static_cast<double>(values.front()) * static_cast<double>(values.back()));
    const auto above =
        std::ranges::find_if(values, [&](std::int64_t each) { return static_cast<double>(each) > mean; });
    const auto cut = std::clamp<std::ptrdiff_t>(above - values.begin(), 1, std::ssize(values) - 1);
    std::array<SweepCell, 2> halves{*this, *this};
    Stretch& low = halves[0].parts[static_cast<std::size_t>(longest - parts.begin())];
    Stretch& high = halves[1].parts[static_cast<std::size_t>(longest - parts.begin())];
    low.values.resize(static_cast<std::size_t>(cut));
    high.values.erase(high.values.begin(), high.values.begin() + cut);
    high.least = high.values.front();
    return halves;
  }

  std::string text() const {  // "batch 2 to 256, seq_len 16 to 512"
    std::string text;
    for (const auto& [axis, values, step, least] : parts) {
      text += (text.empty() ? "" : ", ") + axis->name + " " + axis->text_of(values.front());
      if (values.size() > 1) text += " to " + std::to_string(values.back());
    }
    return text;
  }
};

namespace {

using Stretch = SweepCell::Stretch;

std::vector<Stretch> stretches_of(const SweepAxis& axis) {
  Numbers numbers = axis.numbers;
  std::ranges::sort(numbers);
  std::vector<Stretch> stretches;
  if (!axis.numeric || axis.name != "image_size") {
    const auto rest = std::ranges::find_if(numbers, [&](auto each) { return axis.numeric && each > 1; });
    for (auto each = numbers.begin(); each != rest; ++each) stretches.push_back({&axis, {*each}, 1, *each});
    if (rest != numbers.end())
      stretches.push_back({&axis, {rest, numbers.end()}, 1, std::min<std::int64_t>(*rest, 2)});
    return stretches;
  }
  std::map<std::int64_t, Numbers> by_rest;
  for (const std::int64_t each : numbers) by_rest[each % kImageStep].push_back(each);
  for (const auto& [rest, values] : by_rest) stretches.push_back({&axis, values, kImageStep, values.front()});
  return stretches;
}

std::vector<SweepCell> cells_of(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<Stretch>> stretches;
  for (const SweepAxis& axis : axes) stretches.push_back(stretches_of(axis));
  std::vector<SweepCell> cells;
  for (auto& parts : combinations(stretches)) cells.push_back({std::move(parts)});
  return cells;
}

}  // namespace

std::string_view name(SweepState state) {
  return choices<SweepState, SweepState::kFailed>("not done", "captured", "fitted", "failed")[state];
}

SweepPlace SweepResult::place(std::size_t point) const {
  SweepPlace place(axes.size());
  for (std::size_t a = axes.size(); a-- > 0; point /= axes[a].size())
    place[a] = axes[a].numbers[point % axes[a].size()];
  return place;
}

std::optional<std::size_t> SweepResult::point_at(const SweepPlace& place) const {
  std::size_t point = 0;
  for (std::size_t a = 0; a < place.size(); ++a) {
    const auto found = index[a].find(place[a]);
    if (found == index[a].end()) return std::nullopt;
    point = point * axes[a].size() + found->second;
  }
  return point;
}

std::size_t SweepResult::count(SweepState state) const {
  return static_cast<std::size_t>(std::ranges::count(points, state, &SweepPoint::state));
}

std::optional<SweepFigures> SweepResult::at(const SweepPlace& place) const {
  if (const auto point = point_at(place))
    return points[*point].has_figures() ? std::optional(points[*point].figures) : std::nullopt;
  for (const SweepSurface& surface : surfaces)
    if (surface.holds(place)) {
      auto figures = surface.at(place, options.profile);
      if (figures && surface.tells_times())
        figures->add_times(surface.times_at(place, options.profile, options.others));
      return figures;
    }
  return std::nullopt;
}

Sweep::Sweep(std::vector<SweepAxis> axes, const SweepOptions& options) {
  std::size_t points = 1;
  for (const SweepAxis& axis : axes) {
    OPSCOPE_CHECK(axis.size() > 0 && axis.size() == axis.numbers.size());
    points = points > kMostPoints / axis.size() ? kMostPoints + 1 : points * axis.size();
  }
  if (points > kMostPoints)
    throw Error("more than " + format_exact(Count{kMostPoints}) + " points", "sweep",
                "fewer values, or several sweeps");
  for (const SweepAxis& axis : axes) {
    auto& places = result_.index.emplace_back();
    for (std::size_t i = 0; i < axis.size(); ++i) places.emplace(axis.numbers[i], i);
  }
  result_.axes = std::move(axes);
  result_.options = options;
  result_.points.resize(points);
  by_polynomials_ =
      options.way == SweepWay::kPolynomial || (options.way == SweepWay::kAuto && points > kFitFrom);
}

void Sweep::run(const SweepCapture& capture) {
  if (by_polynomials_) {
    for (SweepCell& cell : cells_of(result_.axes)) run_cell(std::move(cell), capture);
    return;
  }
  std::vector<SweepPlace> places;
  for (std::size_t i = 0; i < result_.points.size(); ++i) places.push_back(result_.place(i));
  capture_all(places, capture);
  learn_from_captures();
}

void Sweep::capture_all(std::span<const SweepPlace> places, const SweepCapture& capture) {
  std::vector<SweepPlace> missing;
  for (const SweepPlace& place : places)
    if (!known_.contains(place)) missing.push_back(place);
  if (missing.empty()) return;
  capture(missing, [&](std::size_t index, const Graph* graph, const std::string& problem) {
    Known known{.sample = {},
                .graph = {},
                .point = {.state = SweepState::kFailed, .problem = problem, .figures = {}}};
    if (graph != nullptr) {
      if (result_.model.empty())
        result_.model = graph->capture.model, result_.source = graph->capture.source,
        result_.inputs = inputs_text(*graph);
      known.sample = sample_of(*graph, result_.options.profile);
      known.point.state = SweepState::kCaptured;
      known.point.figures = figures_of(*known.sample, result_.options.profile);
      if (result_.devices() > 0) {
        known.point.figures.add_times(
            times_of(*graph, result_.options.profile, result_.options.others, &result_.time_notes));
        known.graph = std::make_shared<const Graph>(*graph);
      }
    }
    ++result_.captures;
    if (const auto point = result_.point_at(missing[index])) result_.points[*point] = known.point;
    known_[missing[index]] = std::move(known);
  });
}

std::optional<SweepFigures> Sweep::capture_one(const SweepPlace& place, const SweepCapture& capture) {
  capture_all(std::span(&place, 1), capture);
  const Known& found = known_.at(place);
  return found.sample ? std::optional(found.point.figures) : std::nullopt;
}

void Sweep::run_cell(SweepCell cell, const SweepCapture& capture) {
  if (cell.count() > cell.nodes(0).size()) cut_at_limits(cell, capture);
  const std::size_t before = result_.surfaces.size();
  if (tell_cell(cell, capture)) return;
  const std::size_t parts = result_.surfaces.size() - before;
  result_.notes.push_back(cell.text() + (parts == 0
                                             ? ": not a polynomial, so every point was captured"
                                             : ": no one polynomial tells it; " + std::to_string(parts) +
                                                   (parts == 1 ? " tells a part" : " tell a part each") +
                                                   ", the rest was captured"));
}

// What one polynomial cannot tell may be two, each in its half: an op's workspace is the larger of two sizes.
// False where it took more than one, or none told it.
bool Sweep::tell_cell(const SweepCell& cell, const SweepCapture& capture) {
  const std::size_t few = cell.nodes(0).size() + cell.checks().size();
  if (cell.count() > few) {
    for (const std::uint32_t more : {0u, 2u})
      if (fit_cell(cell, more, capture)) return true;
    if (cell.count() >= kWorthHalving * few) {
      for (const SweepCell& half : cell.halves()) tell_cell(half, capture);
      return false;
    }
  }
  capture_all(cell.places(), capture);
  return cell.count() <= few;
}

// The largest value may be more than the model takes (512 positions): then where it ends is looked for, and
// what lies beyond has the reason of the first that failed.
void Sweep::cut_at_limits(SweepCell& cell, const SweepCapture& capture) {
  for (std::size_t axis = 0; axis < cell.parts.size(); ++axis) {
    Numbers& values = cell.parts[axis].values;
    const auto fails = [&](std::size_t index) {
      const SweepPlace place = cell.lowest(axis, values[index]);
      capture_all(std::span(&place, 1), capture);
      return !known_.at(place).sample;
    };
    std::size_t good = 0, bad = values.size() - 1;
    if (bad == 0 || fails(0) || !fails(bad)) continue;
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      (fails(middle) ? bad : good) = middle;
    }
    const std::string& problem = known_.at(cell.lowest(axis, values[bad])).point.problem;
    SweepCell beyond = cell;
    beyond.parts[axis].values.erase(beyond.parts[axis].values.begin(),
                                    beyond.parts[axis].values.begin() + static_cast<std::ptrdiff_t>(bad));
    for (const SweepPlace& place : beyond.places())
      if (SweepPoint& row = point_at(place); row.state == SweepState::kNotDone)
        row.state = SweepState::kFailed, row.problem = problem;
    values.resize(bad);
  }
}

bool Sweep::fit_cell(const SweepCell& cell, std::uint32_t more, const SweepCapture& capture) {
  std::vector<SweepPlace> wanted = cell.nodes(more);
  if (more > 0 && wanted.size() * 2 >= cell.count()) return false;
  const auto checks = cell.checks();
  wanted.insert(wanted.end(), checks.begin(), checks.end());
  capture_all(wanted, capture);
  auto surface = surface_of(cell, more);
  if (!surface) return false;
  std::vector<std::pair<SweepPoint*, SweepFigures>> told;
  for (const SweepPlace& place : cell.places()) {
    SweepPoint& row = point_at(place);
    if (row.state != SweepState::kNotDone) continue;
    auto figures = surface->at(place, result_.options.profile);
    if (!figures) return false;
    if (result_.points.size() <= kMostTimed)
      figures->add_times(surface->times_at(place, result_.options.profile, result_.options.others));
    told.emplace_back(&row, *std::move(figures));
  }
  const bool wants_times = result_.devices() > 0 && !told.empty();
  if (wants_times && result_.points.size() > kMostTimed)
    result_.notes.push_back("predicted times are those of the captured points alone: a sweep of at most " +
                            format_exact(Count{kMostTimed}) + " points has all of them");
  else if (wants_times && told.front().second.times.empty())
    result_.notes.push_back(cell.text() +
                            ": predicted times are those of the captured points alone, since more than "
                            "the sizes of ops differs");
  for (auto& [row, figures] : told) row->state = SweepState::kFitted, row->figures = std::move(figures);
  result_.surfaces.push_back(*std::move(surface));
  return true;
}

// Made from the nodes, and true at every other capture of the cell.
std::optional<SweepSurface> Sweep::surface_of(const SweepCell& cell, std::uint32_t more) {
  const auto nodes = cell.nodes(more);
  std::vector<const SweepSample*> samples;
  std::vector<const Graph*> graphs;
  for (const SweepPlace& place : nodes) {
    const auto found = known_.find(place);
    if (found == known_.end() || !found->second.sample) return std::nullopt;
    samples.push_back(&*found->second.sample);
    if (found->second.graph) graphs.push_back(found->second.graph.get());
  }
  Grid grid;
  std::vector<SweepSurface::Bound> bounds;
  std::vector<std::int64_t> farthest;
  for (const Stretch& part : cell.parts) {
    const bool varies = part.values.size() > 1;
    const std::int64_t low = part.values.front(), high = part.values.back();
    bounds.push_back({varies ? part.least : low, high, part.step, varies});
    if (varies) grid.push_back(part.nodes(more)), farthest.push_back(high - low);
  }
  auto surface = SweepSurface::fit(grid, samples, graphs);
  if (!surface) return std::nullopt;
  surface->hold_within(std::move(bounds), farthest);
  std::size_t confirmed = 0;
  for (const auto& [place, known] : known_) {
    if (!known.sample || !surface->holds(place) || std::ranges::find(nodes, place) != nodes.end()) continue;
    if (!surface->agrees(place, *known.sample)) return std::nullopt;
    if (known.graph) surface->check_times(place, *known.graph);
    ++confirmed;
  }
  if (confirmed == 0) return std::nullopt;
  result_.confirmed += confirmed;
  return surface;
}

// For turning points between the values of a small sweep.
void Sweep::learn_from_captures() {
  for (const SweepCell& cell : cells_of(result_.axes))
    for (const std::uint32_t more : {0u, 2u}) {
      if (cell.count() <= cell.nodes(more).size()) continue;
      auto surface = surface_of(cell, more);
      if (!surface) continue;
      result_.surfaces.push_back(*std::move(surface));
      break;
    }
}

}  // namespace opscope
