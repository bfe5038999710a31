// Plans a sweep: every point a capture, or, block by block, the captures that polynomials are made from and
// checked against. Whatever a polynomial cannot tell is captured.
#include <algorithm>

#include "analyse/profile/figures.h"
#include "analyse/sweep/cell.h"
#include "analyse/sweep/sweep.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::size_t kWorthHalving = 4;  // times the captures that a polynomial takes: else all are captured

// In a list of numbers, mostly one after the other; its size where the number is not there.
std::size_t index_of(std::span<const std::int64_t> numbers, std::int64_t number) {
  const auto guess = static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(numbers.front());
  if (guess < numbers.size() && numbers[guess] == number) return guess;
  return static_cast<std::size_t>(std::ranges::find(numbers, number) - numbers.begin());
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

std::string SweepResult::text_of(const SweepPlace& place, std::size_t axis) const {
  const SweepAxis& values = axes[axis];
  if (values.numeric) return std::to_string(place[axis]);
  return values.texts[static_cast<std::size_t>(place[axis])];
}

std::size_t SweepResult::count(SweepState state) const {
  return static_cast<std::size_t>(std::ranges::count(points, state, &SweepPoint::state));
}

std::optional<SweepFigures> SweepResult::at(const SweepPlace& place) const {
  std::size_t point = 0;
  bool listed = true;
  for (std::size_t a = 0; a < axes.size() && listed; ++a) {
    const std::size_t found = index_of(axes[a].numbers, place[a]);
    listed = found < axes[a].size();
    point = point * axes[a].size() + found;
  }
  if (listed) {
    const SweepPoint& known = points[point];
    if (known.has_figures()) return known.figures;
    return std::nullopt;
  }
  for (const SweepSurface& surface : surfaces)
    if (surface.holds(place)) return surface.at(surface.variables_of(place), options.profile);
  return std::nullopt;
}

std::string inputs_text(const Graph& graph) {
  std::vector<FigureInput> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    inputs.push_back({std::string(graph.text(value.name)), format_shape(graph.shape(value)),
                      std::string(name(value.dtype))});
  }
  return inputs_text(inputs);
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
    auto& places = index_.emplace_back();
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

void Sweep::note_graph(const Graph& graph) {
  if (!result_.model.empty()) return;
  result_.model = graph.capture.model, result_.source = graph.capture.source;
  result_.inputs = inputs_text(graph);
}

void Sweep::capture_all(std::span<const SweepPlace> places, const SweepCapture& capture) {
  std::vector<SweepPlace> missing;
  for (const SweepPlace& place : places)
    if (!known_.contains(place)) missing.push_back(place);
  if (missing.empty()) return;
  capture(missing, [&](std::size_t index, const Graph* graph, const std::string& problem) {
    Known known{.sample = nullptr, .problem = problem, .figures = {}};
    if (graph != nullptr) {
      note_graph(*graph);
      known.sample = std::make_shared<SweepSample>(sample_of(*graph, result_.options.profile.convention));
      known.figures = figures_of(*known.sample, result_.options.profile);
    }
    ++result_.captures;
    set_point(missing[index], known);
    known_[missing[index]] = std::move(known);
  });
}

void Sweep::set_point(const SweepPlace& place, const Known& known) {
  SweepPoint* const row = point_at(place);
  if (row == nullptr) return;
  row->state = known.sample ? SweepState::kCaptured : SweepState::kFailed;
  row->problem = known.problem, row->figures = known.figures;
}

SweepPoint* Sweep::point_at(const SweepPlace& place) {
  std::size_t point = 0;
  for (std::size_t a = 0; a < place.size(); ++a) {
    const auto found = index_[a].find(place[a]);
    if (found == index_[a].end()) return nullptr;
    point = point * result_.axes[a].size() + found->second;
  }
  return &result_.points[point];
}

std::optional<SweepFigures> Sweep::capture_one(const SweepPlace& place, const SweepCapture& capture) {
  capture_all(std::span(&place, 1), capture);
  const Known& found = known_.at(place);
  return found.sample ? std::optional(found.figures) : std::nullopt;
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
  if (cell.count() <= few) {
    capture_all(cell.places(), capture);
    return true;
  }
  for (const std::uint32_t more : {0u, 2u})
    if (fit_cell(cell, more, capture)) return true;
  if (cell.count() < kWorthHalving * few)
    capture_all(cell.places(), capture);
  else
    for (const SweepCell& half : cell.halves()) tell_cell(half, capture);
  return false;
}

// The largest value may be more than the model takes (512 positions): then where it ends is looked for, and
// what lies beyond has the reason of the first that failed.
void Sweep::cut_at_limits(SweepCell& cell, const SweepCapture& capture) {
  for (std::size_t axis = 0; axis < cell.values.size(); ++axis) {
    const auto fails = [&](std::size_t index) {
      SweepPlace place = cell.lowest();
      place[axis] = cell.values[axis][index];
      capture_all(std::span(&place, 1), capture);
      return !known_.at(place).sample;
    };
    std::size_t good = 0, bad = cell.values[axis].size() - 1;
    if (bad == 0 || fails(0) || !fails(bad)) continue;
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      (fails(middle) ? bad : good) = middle;
    }
    fail_beyond(cell, axis, bad);
    cell.values[axis].resize(bad);
  }
}

void Sweep::fail_beyond(const SweepCell& cell, std::size_t axis, std::size_t index) {
  SweepPlace first = cell.lowest();
  first[axis] = cell.values[axis][index];
  const std::string problem = known_.at(first).problem;
  for (const SweepPlace& place : cell.beyond(axis, index)) {
    SweepPoint& row = *point_at(place);
    if (row.state == SweepState::kNotDone) row.state = SweepState::kFailed, row.problem = problem;
  }
}

bool Sweep::fit_cell(const SweepCell& cell, std::uint32_t more, const SweepCapture& capture) {
  if (more > 0 && !cell.can_take(more)) return false;
  std::vector<SweepPlace> wanted = cell.nodes(more);
  const auto checks = cell.checks();
  wanted.insert(wanted.end(), checks.begin(), checks.end());
  capture_all(wanted, capture);
  auto surface = surface_of(cell, more);
  if (!surface) return false;
  std::vector<std::pair<SweepPoint*, SweepFigures>> told;
  for (const SweepPlace& place : cell.places()) {
    SweepPoint* const row = point_at(place);
    if (row->state != SweepState::kNotDone) continue;
    auto figures = surface->at(surface->variables_of(place), result_.options.profile);
    if (!figures) return false;
    told.emplace_back(row, *std::move(figures));
  }
  for (auto& [row, figures] : told) row->state = SweepState::kFitted, row->figures = std::move(figures);
  result_.surfaces.push_back(*std::move(surface));
  return true;
}

// Made from the nodes, and true at every other capture of the cell.
std::optional<SweepSurface> Sweep::surface_of(const SweepCell& cell, std::uint32_t more) {
  std::vector<const SweepSample*> samples;
  for (const SweepPlace& place : cell.nodes(more)) {
    const auto found = known_.find(place);
    if (found == known_.end() || !found->second.sample) return std::nullopt;
    samples.push_back(found->second.sample.get());
  }
  auto surface = SweepSurface::fit(cell.grid(more), samples);
  if (!surface) return std::nullopt;
  cell.describe(*surface);
  std::size_t confirmed = 0;
  const auto nodes = cell.nodes(more);
  for (const auto& [place, known] : known_) {
    if (!known.sample || !surface->holds(place) || std::ranges::find(nodes, place) != nodes.end()) continue;
    if (!surface->agrees(surface->variables_of(place), *known.sample)) return std::nullopt;
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
