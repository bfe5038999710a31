// Cuts a sweep into cells, and says of each which captures its polynomial takes.
#include "analyse/sweep/cell.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace opscope {
namespace {

// A part of an axis.
struct Stretch {
  std::vector<std::int64_t> values;
  std::int64_t step = 1, least = 0;
};

// The highest power that is expected: attention squares the length, which is itself the square of a side.
std::uint32_t expected_degree(const SweepAxis& axis) { return axis.name == "image_size" ? 4 : 2; }

std::vector<Stretch> stretches_of(const SweepAxis& axis) {
  std::vector<std::int64_t> numbers = axis.numbers;
  std::ranges::sort(numbers);
  std::vector<Stretch> stretches;
  if (!axis.numeric || axis.name != "image_size") {
    const auto rest = std::ranges::find_if(numbers, [&](auto each) { return axis.numeric && each > 1; });
    for (auto each = numbers.begin(); each != rest; ++each) stretches.push_back({{*each}, 1, *each});
    if (rest != numbers.end())
      stretches.push_back({{rest, numbers.end()}, 1, std::min<std::int64_t>(*rest, 2)});
    return stretches;
  }
  std::map<std::int64_t, Stretch> by_rest;
  for (const std::int64_t each : numbers) {
    Stretch& stretch = by_rest[each % kImageStep];
    stretch.values.push_back(each);
    stretch.step = kImageStep, stretch.least = stretch.values.front();
  }
  for (auto& [rest, stretch] : by_rest) stretches.push_back(std::move(stretch));
  return stretches;
}

// Every combination of one item of each list, the last list fastest.
template <class Visit>
void each_combination(const std::vector<std::vector<std::int64_t>>& lists, Visit visit) {
  SweepPlace place(lists.size());
  std::vector<std::size_t> at(lists.size(), 0);
  if (std::ranges::any_of(lists, [](const auto& list) { return list.empty(); })) return;
  for (;;) {
    for (std::size_t i = 0; i < lists.size(); ++i) place[i] = lists[i][at[i]];
    visit(place);
    std::size_t axis = lists.size();
    while (axis > 0 && ++at[axis - 1] == lists[axis - 1].size()) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<SweepPlace> combinations(const std::vector<std::vector<std::int64_t>>& lists) {
  std::vector<SweepPlace> places;
  each_combination(lists, [&](const SweepPlace& place) { places.push_back(place); });
  return places;
}

}  // namespace

std::vector<SweepCell> cells_of(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<Stretch>> stretches;
  std::vector<std::vector<std::int64_t>> choices;
  for (const SweepAxis& axis : axes) {
    stretches.push_back(stretches_of(axis));
    std::vector<std::int64_t> numbers(stretches.back().size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
    choices.push_back(std::move(numbers));
  }
  std::vector<SweepCell> cells;
  each_combination(choices, [&](const SweepPlace& chosen) {
    SweepCell cell;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const Stretch& stretch = stretches[a][static_cast<std::size_t>(chosen[a])];
      cell.values.push_back(stretch.values);
      cell.steps.push_back(stretch.step), cell.least.push_back(stretch.least);
      cell.degrees.push_back(expected_degree(axes[a]));
      cell.axes.push_back(&axes[a]);
    }
    cells.push_back(std::move(cell));
  });
  return cells;
}

std::size_t SweepCell::count() const {
  std::size_t count = 1;
  for (const auto& list : values) count *= list.size();
  return count;
}

std::vector<SweepPlace> SweepCell::places() const { return combinations(values); }

SweepPlace SweepCell::lowest() const {
  SweepPlace place;
  for (const auto& list : values) place.push_back(list.front());
  return place;
}

std::vector<SweepPlace> SweepCell::beyond(std::size_t axis, std::size_t index) const {
  auto lists = values;
  lists[axis].erase(lists[axis].begin(), lists[axis].begin() + static_cast<std::ptrdiff_t>(index));
  return combinations(lists);
}

Grid SweepCell::grid(std::uint32_t more) const {
  Grid grid;
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (values[a].size() < 2) continue;
    const std::size_t count = std::min<std::size_t>(values[a].size(), degrees[a] + 1 + more);
    grid.emplace_back(values[a].begin(), values[a].begin() + static_cast<std::ptrdiff_t>(count));
  }
  return grid;
}

std::vector<SweepPlace> SweepCell::nodes(std::uint32_t more) const {
  auto lists = values;
  for (std::size_t a = 0; a < lists.size(); ++a)
    lists[a].resize(std::min<std::size_t>(lists[a].size(), degrees[a] + 1 + more));
  return combinations(lists);
}

bool SweepCell::can_take(std::uint32_t more) const { return nodes(more).size() * 2 < count(); }

std::vector<SweepPlace> SweepCell::checks() const {
  const std::size_t most = count() > 400 ? 16 : 8;
  const auto made_from = nodes(0);
  std::vector<SweepPlace> places;
  const auto add = [&](SweepPlace place) {
    const bool is_new = std::ranges::find(places, place) == places.end();
    if (is_new && std::ranges::find(made_from, place) == made_from.end()) places.push_back(std::move(place));
  };
  auto ends = values;
  for (auto& list : ends) list = {list.back(), list.front()};
  const auto corners = combinations(ends);  // the far one first
  for (std::size_t k = 0; k < std::min(corners.size(), most / 2); ++k) add(corners[k]);
  for (std::size_t k = 1; k < most; ++k) {
    SweepPlace place;
    for (std::size_t a = 0; a < values.size();
         ++a)  // 0.618 of the way on each time, an axis later than another
      place.push_back(values[a][(k * (618 + 137 * a) * values[a].size() / 1000) % values[a].size()]);
    add(std::move(place));
  }
  if (places.size() > most) places.resize(most);
  return places;
}

std::array<SweepCell, 2> SweepCell::halves() const {
  const auto longest = std::ranges::max_element(values, {}, [](const auto& list) { return list.size(); });
  const auto axis = static_cast<std::size_t>(longest - values.begin());
  const double mean = std::sqrt(static_cast<double>(longest->front()) * static_cast<double>(longest->back()));
  const auto above =
      std::ranges::find_if(*longest, [&](std::int64_t each) { return static_cast<double>(each) > mean; });
  const auto cut = std::clamp<std::ptrdiff_t>(above - longest->begin(), 1,
                                              static_cast<std::ptrdiff_t>(longest->size()) - 1);
  std::array<SweepCell, 2> parts{*this, *this};
  parts[0].values[axis].resize(static_cast<std::size_t>(cut));
  parts[1].values[axis].erase(parts[1].values[axis].begin(), parts[1].values[axis].begin() + cut);
  parts[1].least[axis] = parts[1].values[axis].front();
  return parts;
}

void SweepCell::describe(SweepSurface& surface) const {
  std::vector<std::int64_t> farthest;
  for (std::size_t a = 0; a < values.size(); ++a) {
    const bool varies = values[a].size() > 1;
    surface.low.push_back(varies ? least[a] : values[a].front());
    surface.high.push_back(values[a].back());
    surface.step.push_back(steps[a]);
    if (!varies) continue;
    surface.variables.push_back(a);
    farthest.push_back(values[a].back() - values[a].front());
  }
  surface.promise_within(farthest);
}

std::string SweepCell::text() const {
  std::string text;
  for (std::size_t a = 0; a < values.size(); ++a) {
    text += (text.empty() ? "" : ", ") + axes[a]->name + " ";
    text += axes[a]->numeric ? std::to_string(values[a].front())
                             : axes[a]->texts[static_cast<std::size_t>(values[a].front())];
    if (values[a].size() > 1) text += " to " + std::to_string(values[a].back());
  }
  return text;
}

}  // namespace opscope
