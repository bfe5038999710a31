// Which boxes become one. Merging into the only one that gives, or the only one that takes, makes no cycle.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "analyse/tree/draft.h"

namespace opscope {
namespace {

bool is_light(Category category) {
  using enum Category;
  constexpr Category kLight[] = {kNorm,   kActivation, kPointwise, kIndex,   kCopy,
                                 kCreate, kRandom,     kView,      kMetadata};
  return std::ranges::find(kLight, category) != std::end(kLight);
}

using Neighbours = std::vector<std::set<std::uint32_t>>;  // by box

class Merger {
 public:
  Merger(const GraphView& view, Draft& draft, std::span<const ViewEdge> edges)
      : view_(view), draft_(draft), into_(draft.boxes.size()), in_(into_.size()), out_(into_.size()) {
    std::iota(into_.begin(), into_.end(), 0u);
    for (const ViewEdge& edge : edges) {
      const std::uint32_t from = draft.box_of[edge.from], to = draft.box_of[edge.to];
      if (from == kNone || to == kNone || from == to) continue;
      out_[from].insert(to), in_[to].insert(from);
    }
  }

  void run() {
    merge_inputs();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t b = 0; b < into_.size(); ++b)
        if (into_[b] == b && merge(b)) changed = true;
    }
    finish();
  }

 private:
  DraftBox& box(std::uint32_t b) { return draft_.boxes[b]; }
  bool joins(std::uint32_t a, std::uint32_t b) {
    return box(a).may_merge && box(b).may_merge && box(a).around == box(b).around && box(a).repeat == 1 &&
           box(b).repeat == 1;
  }

  bool merge(std::uint32_t b) {
    if (!box(b).may_merge || box(b).weight == Weight::kHeavy) return false;
    if (in_[b].size() == 1) {
      const std::uint32_t giver = *in_[b].begin();
      // What costs nothing may be drawn with the one that gives it, wherever that is.
      const bool is_free = box(b).weight == Weight::kFree && box(giver).kind != BoxKind::kStub;
      if (is_free || (joins(b, giver) && out_[giver].size() == 1)) return join(b, giver), true;
    }
    if (out_[b].size() == 1) {
      const std::uint32_t taker = *out_[b].begin();
      const bool prepares = in_[b].empty() || box(b).weight == Weight::kFree ||
                            (box(taker).weight != Weight::kHeavy && in_[taker].size() == 1);
      if (joins(b, taker) && prepares) return join(b, taker), true;
    }
    return false;
  }

  void join(std::uint32_t from, std::uint32_t to) {
    into_[from] = to;
    for (const std::uint32_t n : in_[from]) {
      out_[n].erase(from);
      if (n != to) out_[n].insert(to), in_[to].insert(n);
    }
    for (const std::uint32_t n : out_[from]) {
      in_[n].erase(from);
      if (n != to) in_[n].insert(to), out_[to].insert(n);
    }
    DraftBox &source = box(from), &target = box(to);
    if (names_better(source, target))
      target.item = source.item, target.name = source.name, target.named_by = source.named_by;
    target.weight = std::max(target.weight, source.weight);
    target.nodes.insert(target.nodes.end(), source.nodes.begin(), source.nodes.end());
  }

  bool names_better(const DraftBox& a, const DraftBox& b) const {
    if (b.kind != BoxKind::kNode) return false;
    const auto rank = [&](const DraftBox& x) {
      return std::tuple(x.weight == Weight::kHeavy, x.weight == Weight::kLight && is_call(x), x.weight,
                        is_call(x));
    };
    return rank(a) > rank(b);
  }

  bool is_call(const DraftBox& x) const {
    return x.named_by != kNone && view_.nodes[x.named_by].kind == "call_module";
  }

  // A language model's next token comes with two tensors of each layer's past.
  void merge_inputs() {
    std::map<std::set<std::uint32_t>, std::vector<std::uint32_t>> by_takers;
    for (std::uint32_t b = 0; b < into_.size(); ++b)
      if (box(b).kind == BoxKind::kInput) by_takers[out_[b]].push_back(b);
    for (const auto& [takers, inputs] : by_takers) {
      if (inputs.size() < 3) continue;
      for (std::size_t i = 1; i < inputs.size(); ++i) join(inputs[i], inputs[0]);
      box(inputs[0]).name += " and " + std::to_string(inputs.size() - 1) + " more";
    }
  }

  void finish() {
    std::vector<DraftBox> left;
    std::vector<std::uint32_t> number(into_.size(), kNone);
    for (std::uint32_t b = 0; b < into_.size(); ++b) {
      if (into_[b] != b) continue;
      number[b] = static_cast<std::uint32_t>(left.size());
      left.push_back(std::move(box(b)));
      std::ranges::sort(left.back().nodes);
    }
    for (std::uint32_t& b : draft_.box_of) {
      if (b == kNone) continue;
      while (into_[b] != b) b = into_[b];
      b = number[b];
    }
    draft_.boxes = std::move(left);
  }

  const GraphView& view_;
  Draft& draft_;
  std::vector<std::uint32_t> into_;  // by box: itself, or what it was merged into
  Neighbours in_, out_;
};

}  // namespace

Weight weight_of(const GraphView& view, const ViewNode& node) {
  if (!node.metrics.counts()) return Weight::kFree;
  if (view.level == Level::kOp || view.level == Level::kSubgraph) return Weight::kHeavy;
  const auto index = static_cast<std::uint32_t>(&node - view.nodes.data());
  return is_light(costliest_category(view, {&index, 1})) ? Weight::kLight : Weight::kHeavy;
}

void merge_light(const GraphView& view, Draft& draft, std::span<const ViewEdge> edges) {
  Merger(view, draft, edges).run();
}

void merge_runs(Draft& draft, std::size_t most) {
  const auto fixed = [](const DraftBox& b) {
    return b.kind == BoxKind::kInput || b.kind == BoxKind::kOutput;
  };
  const auto is_stub = [](const DraftBox& b) { return b.kind == BoxKind::kStub; };
  std::size_t ends = static_cast<std::size_t>(std::ranges::count_if(draft.boxes, fixed));
  const std::size_t inner = draft.boxes.size() - ends;
  if (std::ranges::any_of(draft.boxes, is_stub)) ends += 2;  // runs of neighbours may be left unfilled
  const std::size_t room = most > ends + 1 ? most - ends : 1, length = (inner + room - 1) / room;
  if (length < 2) return;
  std::vector<DraftBox> left;
  std::vector<std::uint32_t> number;
  std::string first;
  std::size_t in_run = 0;
  for (DraftBox& box : draft.boxes) {
    // What is in focus and what is around it stay apart.
    if (fixed(box) || in_run == 0 || is_stub(box) != is_stub(left.back())) {
      first = box.name;
      in_run = fixed(box) ? 0 : 1;
      if (in_run == 1 && !is_stub(box)) box.kind = BoxKind::kRun, box.repeat = 1;
      left.push_back(std::move(box));
    } else {
      DraftBox& run = left.back();
      run.nodes.insert(run.nodes.end(), box.nodes.begin(), box.nodes.end());
      run.name = first + " .. " + box.name;
      ++in_run;
    }
    number.push_back(static_cast<std::uint32_t>(left.size() - 1));
    if (in_run == length) in_run = 0;
  }
  for (std::uint32_t& b : draft.box_of)
    if (b != kNone) b = number[b];
  for (DraftBox& box : left) std::ranges::sort(box.nodes);
  draft.boxes = std::move(left);
}

}  // namespace opscope
