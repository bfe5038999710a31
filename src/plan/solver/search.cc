// The search: downsets in the order of their size, and from each all parts that may come next, item by item,
// each part once.
#include "plan/solver/search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace opscope {
namespace {

// Sums in another order differ in their last digits.
constexpr double kRounding = 1 + 1e-12;

}  // namespace

DeviceCounts::DeviceCounts(const CostGraph& graph, std::size_t items) {
  std::size_t all = 1;
  for (const DeviceClass& one : graph.classes) {
    stride_.push_back(all);
    most_.push_back(std::min(one.count, items));
    all *= most_.back() + 1;
    constexpr std::size_t kMost = 1u << 20;
    if (all > kMost)
      throw Error("too many kinds of devices to plan for", "",
                  "devices that are alike are one class with a count");
  }
  for (std::size_t index = 0; index < all; ++index) {
    std::size_t devices = 0;
    for (std::size_t c = 0; c < most_.size(); ++c) devices += count(index, c);
    devices_.push_back(devices);
  }
}

bool DeviceCounts::is_within(std::size_t a, std::size_t b) const {
  for (std::size_t c = 0; c < most_.size(); ++c)
    if (count(a, c) > count(b, c)) return false;
  return true;
}

Search::Search(const PlanProblem& problem, SearchLimits limits, bool hops)
    : problem_(problem),
      counts_(*problem.graph, problem.items.size()),
      limits_(limits),
      spread_(spread_bound(problem)),
      sets_(problem.items.size()),
      classes_(problem.classes()),
      inside_(problem.items.size()),
      in_part_(problem.items.size()),
      has_room_(problem.classes()),
      missing_(problem.items.size()),
      readers_(problem.tensors.size(), 0),
      shared_(problem.graph->shared_bytes.size(), 0) {
  for (std::size_t counts = 0; counts < counts_.size(); ++counts) {
    double weight = 0;
    for (std::size_t c = 0; c < classes_; ++c)
      weight += spread_.weights[c] * static_cast<double>(counts_.most(c) - counts_.count(counts, c));
    rest_weight_.push_back(weight);
  }
  set_links(hops);
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    missing_[i] = static_cast<std::uint32_t>(problem.items[i].before.size());
    if (missing_[i] == 0) next_.insert(i);
  }
}

void Search::set_links(bool hops) {
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::ranges::all_of(
        problem_.tensors, [&](const PlanTensor& tensor) { return tensor.seconds[a] == tensor.seconds[b]; });
  };
  for (std::size_t c = 0; c < classes_; ++c) {
    std::size_t first = 0;
    while (!same(first, c)) ++first;
    link_.push_back(static_cast<std::uint8_t>(first));
    has_labels_ = has_labels_ || (hops && first > 0);
  }
  if (has_labels_) labels_.assign(problem_.tensors.size(), 0), consumed_.assign(problem_.tensors.size(), 0);
}

// Stands for a tensor that was made behind a link and is still to be read.
SetHash Search::label_hash(std::uint32_t tensor, std::uint8_t label) const {
  const SetHash& hash = sets_.hash_of_item(problem_.tensors[tensor].producer);
  const std::uint64_t factor = (std::uint64_t{tensor} * 128 + label) * 2 + 3;
  return {hash[0] * factor, hash[1] * factor};
}

void Search::begin(const SearchPass& pass) {
  pass_ = pass;
  least_ = spread_.least;
  std::vector<double> memory = spread_.memory;
  if (pass.sums) {
    SumBound bound = sum_bound(problem_, pass.weights);
    least_ = std::move(bound.least), memory = std::move(bound.memory);
  }
  rest_memory_.assign(counts_.size(), 0);
  for (std::size_t counts = 0; counts < counts_.size(); ++counts)
    for (std::size_t c = 0; c < classes_; ++c)
      rest_memory_[counts] += memory[c] * static_cast<double>(counts_.left(counts, c, *problem_.graph));
  least_from_.assign(least_.size() + 1, 0);
  for (std::size_t i = least_.size(); i-- > 0;) least_from_[i] = least_from_[i + 1] + least_[i];
  value_.assign(sets_.size() * counts_.size(), kCannotRun);
  from_.resize(value_.size()), class_.resize(value_.size());
  value_[0] = 0;
}

SearchResult Search::run(const SearchPass& pass) {
  begin(pass);
  SearchResult result;
  for (std::size_t size = 0; size < problem_.items.size() && result.complete; ++size)
    for (std::size_t i = 0; i < sets_.of_size(size).size() && result.complete; ++i)
      result.complete = expand(sets_.of_size(size)[i]);
  result.best.assign(counts_.size(), kCannotRun);
  if (sets_.full() != Downsets::kNone)
    std::copy_n(value_.begin() + static_cast<std::ptrdiff_t>(sets_.full() * counts_.size()), counts_.size(),
                result.best.begin());
  return result;
}

bool Search::can_be_left(double rest, std::size_t counts) const {
  if (counts_.devices(counts) >= pass_.most_devices) return false;
  return pass_.sums || rest - rest_memory_[counts] <= pass_.most_seconds * rest_weight_[counts] * kRounding;
}

// The plans of a downset that may be part of an answer: within the limits, and no other has as few devices
// and is as good.
bool Search::find_starts(std::uint32_t set) {
  starts_.clear();
  const double* values = &value_[set * counts_.size()];
  for (std::size_t counts = 0; counts < counts_.size(); ++counts) {
    const double value = values[counts];
    if (!std::isfinite(value) || !can_be_left(rest_, counts)) continue;
    if (pass_.sums ? value + std::max(rest_ - rest_memory_[counts], 0.0) > pass_.most_sum * kRounding
                   : value > pass_.most_seconds * kRounding)
      continue;
    const auto makes_needless = [&](const Start& start) {
      return start.value <= value && counts_.is_within(start.counts, counts);
    };
    if (std::ranges::none_of(starts_, makes_needless)) starts_.push_back({counts, value});
  }
  if (starts_.empty()) return false;
  least_start_ = kCannotRun;
  for (const Start& start : starts_)
    least_start_ = std::min(least_start_, start.value - rest_memory_[start.counts]);
  for (std::size_t c = 0; c < classes_; ++c)
    has_room_[c] = std::ranges::any_of(
        starts_, [&](const Start& start) { return counts_.count(start.counts, c) < counts_.most(c); });
  return true;
}

// In the set at hand, or no longer.
void Search::change(std::uint32_t item) {
  const bool now = inside_[item] = !inside_[item];
  if (missing_[item] == 0) now ? static_cast<void>(next_.erase(item)) : static_cast<void>(next_.insert(item));
  for (const std::uint32_t after : problem_.items[item].after) {
    if (now ? --missing_[after] > 0 : missing_[after]++ > 0) continue;
    if (!inside_[after]) now ? static_cast<void>(next_.insert(after)) : static_cast<void>(next_.erase(after));
  }
  for (const std::uint32_t tensor : problem_.items[item].reads)
    if (has_labels_) consumed_[tensor] += now ? 1 : ~std::uint32_t{0};
}

// Makes the downset the one at hand: only where it differs from the one before.
void Search::go_to(std::uint32_t set) {
  const std::uint32_t begin = std::min(sets_.begin(set_), sets_.begin(set));
  const std::uint32_t end = std::max(sets_.end(set_), sets_.end(set));
  for (std::uint32_t i = begin; i < end; ++i)
    if (inside_[i] != sets_.has(set, i)) change(i);
  set_ = set, rest_ = least_from_[sets_.end(set)];
  left_ = problem_.items.size() - sets_.end(set);
  for (std::uint32_t i = sets_.begin(set); i < sets_.end(set); ++i)
    if (!inside_[i]) rest_ += least_[i], ++left_;
}

// Parts of the set at hand begin with nothing.
void Search::enter(std::uint32_t set) {
  open_.assign(next_.begin(), next_.end());
  loads_.assign(classes_, {});
  path_.assign(1, {.open_size = static_cast<std::uint32_t>(open_.size()), .hash = sets_.hash(set)});
  part_.clear();
}

bool Search::expand(std::uint32_t set) {
  const double* values = &value_[set * counts_.size()];
  if (std::none_of(values, values + counts_.size(), [](double value) { return std::isfinite(value); }))
    return true;
  go_to(set);
  if (!find_starts(set)) return true;
  enter(set);
  for (;;) {
    Step& step = path_.back();
    if (step.next == step.open_size) {
      if (path_.size() == 1) return true;
      remove(step.item);
      continue;
    }
    if (++steps_ > limits_.steps) break;
    const std::uint32_t item = open_[step.next++];
    add(item);
    if (!consider()) {
      if (sets_.size() * counts_.size() > limits_.values) break;
      remove(item);
      continue;
    }
    for (const std::uint32_t after : problem_.items[item].after)
      if (missing_[after] == 0) open_.push_back(after);
    path_.back().open_size = static_cast<std::uint32_t>(open_.size());
  }
  while (path_.size() > 1) remove(path_.back().item);
  return false;
}

void Search::add(std::uint32_t item) {
  const PlanItem& more = problem_.items[item];
  Step step = path_.back();
  step.item = item;
  step.bytes += more.bytes, step.peak = std::max(step.peak, more.peak_bytes), step.least += least_[item];
  for (const std::uint32_t each : more.shared)
    if (shared_[each]++ == 0) step.bytes += problem_.graph->shared_bytes[each];
  step.hash = step.hash ^ sets_.hash_of_item(item);
  const std::size_t begin = loads_.size();
  loads_.resize(begin + classes_);
  for (std::size_t c = 0; c < classes_; ++c) {
    loads_[begin + c] = loads_[begin - classes_ + c];
    loads_[begin + c].compute += more.seconds[c];
  }
  add_tensors(item, step, &loads_[begin]);
  for (const std::uint32_t after : more.after) --missing_[after];
  path_.push_back(step);
  part_.push_back(item);
}

// Received by a device of each class from where it was made: as long as the slower link.
void Search::add_hops(const PlanTensor& tensor, std::uint32_t id, Load* loads) {
  for (std::size_t c = 0; c < classes_; ++c) {
    const std::size_t from = has_labels_ ? labels_[set_ * problem_.tensors.size() + id] : c;
    loads[c].hops += std::max(tensor.seconds[from], tensor.seconds[c]);
  }
}

// Others begin or cease to read what the part makes.
void Search::change_label(std::uint32_t tensor, Load* loads) {
  for (std::size_t c = 0; has_labels_ && c < classes_; ++c)
    loads[c].made = loads[c].made ^ label_hash(tensor, link_[c]);
}

// What crosses the part's edge now, and what no longer does.
void Search::add_tensors(std::uint32_t item, Step& step, Load* loads) {
  const auto change = [&](const PlanTensor& tensor, double Load::*of, double sign) {
    for (std::size_t c = 0; c < classes_; ++c) loads[c].*of += sign * tensor.seconds[c];
  };
  for (const std::uint32_t each : problem_.items[item].reads) {
    const PlanTensor& tensor = problem_.tensors[each];
    const bool first = readers_[each]++ == 0;
    if (in_part_[tensor.producer]) {
      if (readers_[each] == tensor.consumers.size())
        change(tensor, &Load::sent, -1), change_label(each, loads);
    } else if (first) {
      change(tensor, &Load::received, 1);
      step.bytes += tensor.bytes;
      if (inside_[tensor.producer]) change(tensor, &Load::settled, 1), add_hops(tensor, each, loads);
    }
    if (has_labels_ && inside_[tensor.producer] && ++consumed_[each] == tensor.consumers.size())
      step.hash = step.hash ^ label_hash(each, labels_[set_ * problem_.tensors.size() + each]);
  }
  for (const std::uint32_t each : problem_.items[item].writes) {
    const PlanTensor& tensor = problem_.tensors[each];
    if (readers_[each] > 0) change(tensor, &Load::received, -1), step.bytes -= tensor.bytes;
    if (readers_[each] < tensor.consumers.size()) change(tensor, &Load::sent, 1), change_label(each, loads);
  }
  in_part_[item] = true;
}

void Search::remove(std::uint32_t item) {
  const PlanItem& less = problem_.items[item];
  path_.pop_back(), part_.pop_back();
  loads_.resize(loads_.size() - classes_);
  open_.resize(path_.back().open_size);
  in_part_[item] = false;
  for (const std::uint32_t after : less.after) ++missing_[after];
  for (const std::uint32_t each : less.reads) {
    --readers_[each];
    if (has_labels_ && inside_[problem_.tensors[each].producer]) --consumed_[each];
  }
  for (const std::uint32_t each : less.shared) --shared_[each];
}

double Search::period(const Load& load) const {
  return problem_.graph->overlap ? std::max({load.compute, load.sent, load.received})
                                 : load.compute + load.sent + load.received;
}

double Search::sum_of(const Load& load) const {
  return load.compute + (pass_.hops ? load.hops : load.sent + load.received);
}

// Of all items that are left behind the part, a little less for what rounding may have added.
double Search::rest_after() const { return std::max(rest_ * (2 - kRounding) - path_.back().least, 0.0); }

// False where neither the part nor any with more items in it is within the limits. Of a sum: what is added to
// the part comes off the rest, at most with the price of the memory that the device has left, which is still
// among that of the devices that are left.
bool Search::may_grow(std::size_t c, const Load& load) const {
  const double settled = load.compute + load.settled;
  if (!std::isfinite(settled)) return false;
  if ((problem_.graph->overlap ? std::max(load.compute, load.settled) : settled) >
      pass_.most_seconds * kRounding)
    return false;
  const double certain = pass_.hops ? load.compute + load.hops : settled;
  return !pass_.sums ||
         least_start_ + pass_.weights[c] * certain + rest_after() <= pass_.most_sum * kRounding;
}

bool Search::consider() {
  const Step& step = path_.back();
  const std::size_t begin = loads_.size() - classes_;
  bool grows = false;
  for (std::size_t c = 0; c < classes_; ++c) {
    const auto& memory = problem_.graph->classes[c].memory_bytes;
    if (!has_room_[c] || (memory && step.bytes + step.peak > *memory * kRounding)) continue;
    const Load& load = loads_[begin + c];
    if (!may_grow(c, load)) continue;
    grows = true;
    if (period(load) <= pass_.most_seconds * kRounding) offer(c, pass_.sums ? sum_of(load) : period(load));
  }
  return grows && sets_.size() * counts_.size() <= limits_.values;
}

// The downset with the part on a device of the class; made where it is reached for the first time.
std::uint32_t Search::target(std::size_t c) {
  const SetHash hash = path_.back().hash ^ loads_[loads_.size() - classes_ + c].made;
  std::uint32_t set = sets_.find(hash);
  if (set != Downsets::kNone) return set;
  set = sets_.make(hash, set_, part_);
  value_.resize(sets_.size() * counts_.size(), kCannotRun);
  from_.resize(value_.size()), class_.resize(value_.size());
  if (has_labels_) {
    const std::size_t tensors = problem_.tensors.size();
    labels_.resize(sets_.size() * tensors);
    std::copy_n(&labels_[set_ * tensors], tensors, &labels_[set * tensors]);
    for (const std::uint32_t item : part_)
      for (const std::uint32_t tensor : problem_.items[item].writes)
        labels_[set * tensors + tensor] = link_[c];
  }
  return set;
}

// The part on a device of the class, behind each plan of the downset.
void Search::offer(std::size_t c, double seconds) {
  const bool is_last = part_.size() == left_;
  const double rest = rest_after();
  std::uint32_t set = Downsets::kNone;
  for (const Start& start : starts_) {
    if (counts_.count(start.counts, c) == counts_.most(c)) continue;
    const std::size_t counts = start.counts + counts_.stride(c);
    const double value =
        pass_.sums ? start.value + pass_.weights[c] * seconds : std::max(start.value, seconds);
    if (!is_last && !can_be_left(rest, counts)) continue;
    if (pass_.sums && value + std::max(rest - rest_memory_[counts], 0.0) > pass_.most_sum * kRounding)
      continue;
    if (set == Downsets::kNone) set = target(c);
    const std::size_t at = set * counts_.size() + counts;
    if (value >= value_[at]) continue;
    value_[at] = value, from_[at] = set_, class_[at] = static_cast<std::uint8_t>(c);
    if (!is_last || !pass_.best_alone) continue;
    double& most = pass_.sums ? pass_.most_sum : pass_.most_seconds;
    most = std::min(most, value);  // what is not better is not looked for any more
  }
}

std::vector<PlanPart> Search::plan(std::size_t counts) const {
  std::vector<PlanPart> parts;
  for (std::uint32_t set = sets_.full(); set != sets_.empty();) {
    const std::size_t at = set * counts_.size() + counts;
    PlanPart part{.device_class = class_[at]};
    for (std::uint32_t i = 0; i < problem_.items.size(); ++i)
      if (sets_.has(set, i) && !sets_.has(from_[at], i))
        part.nodes.insert(part.nodes.end(), problem_.items[i].nodes.begin(), problem_.items[i].nodes.end());
    std::ranges::sort(part.nodes);
    counts -= counts_.stride(class_[at]);
    set = from_[at];
    parts.push_back(std::move(part));
  }
  std::ranges::reverse(parts);
  std::vector<std::uint32_t> used(classes_, 0);
  for (PlanPart& part : parts) part.device = used[part.device_class]++;
  return parts;
}

}  // namespace opscope
