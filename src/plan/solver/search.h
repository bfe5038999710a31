// Dynamic programming over downsets: for every number of devices of each class, the best plan of what a
// downset holds. Parts that are too slow, or leave too much to the devices that are left, are cut off.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "plan/solver/bounds.h"
#include "plan/solver/downsets.h"
#include "plan/solver/problem.h"

namespace opscope {

// How far a search may go before it gives up: counted, not timed, so that the answer is always the same.
struct SearchLimits {
  std::uint64_t steps = 0;  // items added to parts
  std::size_t values = 0;   // downsets times numbers of devices
};

struct SearchPass {
  bool sums = false;            // the sum of all parts is what counts, instead of the slowest
  bool hops = false;            // with what a run alone waits for transfers, instead of all that devices do
  std::vector<double> weights;  // of seconds in the sum, by class
  double most_seconds = kCannotRun;  // of a part; plans with a slower one are left out
  double most_sum = kCannotRun;
  std::size_t most_devices = SIZE_MAX;
  bool best_alone = true;  // one best plan is wanted, and not one for each number of devices
};

struct SearchResult {
  bool complete = true;      // no plan that the pass allows was overlooked
  std::vector<double> best;  // by numbers of devices; kCannotRun: there is none
};

// A number of devices of each class, as one index.
class DeviceCounts {
 public:
  // Of each class no more than there are items.
  DeviceCounts(const CostGraph& graph, std::size_t items);

  std::size_t size() const { return devices_.size(); }
  std::size_t stride(std::size_t c) const { return stride_[c]; }
  std::size_t most(std::size_t c) const { return most_[c]; }
  std::size_t count(std::size_t index, std::size_t c) const { return index / stride_[c] % (most_[c] + 1); }
  std::size_t devices(std::size_t index) const { return devices_[index]; }  // together
  // Of a class, devices that are not used; of more devices than items those too that no plan could use.
  std::size_t left(std::size_t index, std::size_t c, const CostGraph& graph) const {
    return graph.classes[c].count - count(index, c);
  }
  bool is_within(std::size_t a, std::size_t b) const;  // no more of any class

 private:
  std::vector<std::size_t> most_, stride_, devices_;
};

class Search {
 public:
  // `hops`: some pass has them. Where links differ, what was made on which of them is then told apart.
  Search(const PlanProblem& problem, SearchLimits limits, bool hops = false);

  const DeviceCounts& counts() const { return counts_; }
  const SpreadBound& spread() const { return spread_; }
  SearchResult run(const SearchPass& pass);
  // Of the last pass: its best plan with these devices, in the order that it runs in; not priced yet.
  std::vector<PlanPart> plan(std::size_t counts) const;

  std::size_t downsets() const { return sets_.size(); }
  std::uint64_t steps() const { return steps_; }
  void allow(std::uint64_t steps) { limits_.steps = steps_ + steps; }

 private:
  // What a part takes on each class, as items are added to it.
  struct Load {
    double compute = 0, sent = 0, received = 0;
    double settled = 0;  // of what it received: that it will whatever is added
    double hops = 0;     // what a run alone waits for, where that is not both
    SetHash made{};      // labels of what it made and others still read
  };
  struct Step {
    std::uint32_t item = 0, next = 0, open_size = 0;
    double bytes = 0, peak = 0, least = 0;
    SetHash hash{};
  };
  // A plan of the downset at hand that no other makes needless.
  struct Start {
    std::size_t counts = 0;
    double value = 0;
  };

  void begin(const SearchPass& pass);
  bool expand(std::uint32_t set);  // false: the limit is reached
  bool find_starts(std::uint32_t set);
  void go_to(std::uint32_t set);
  void change(std::uint32_t item);
  void enter(std::uint32_t set);
  void add(std::uint32_t item);
  void add_tensors(std::uint32_t item, Step& step, Load* loads);
  void remove(std::uint32_t item);
  bool consider();  // the part as it is now; false: nothing that is added to it can be allowed
  void offer(std::size_t c, double seconds);
  std::uint32_t target(std::size_t c);
  void set_links(bool hops);
  SetHash label_hash(std::uint32_t tensor, std::uint8_t label) const;
  void change_label(std::uint32_t tensor, Load* loads);
  void add_hops(const PlanTensor& tensor, std::uint32_t id, Load* loads);
  double period(const Load& load) const;
  double sum_of(const Load& load) const;
  double rest_after() const;
  bool may_grow(std::size_t c, const Load& load) const;
  bool can_be_left(double rest, std::size_t counts) const;

  const PlanProblem& problem_;
  DeviceCounts counts_;
  SearchLimits limits_;
  SpreadBound spread_;
  Downsets sets_;
  SearchPass pass_;
  std::uint64_t steps_ = 0;
  std::size_t classes_;
  std::vector<double> least_, rest_weight_;  // by item; by counts, of devices that are left
  std::vector<double> least_from_;           // by item: of it and all behind it
  std::vector<double> rest_memory_;          // by counts: the price of the memory of devices that are left
  std::vector<double> value_;                // by downset and counts
  std::vector<std::uint32_t> from_;          // the downset that it continues
  std::vector<std::uint8_t> class_;          // and the class of its last part

  // Of the downset that parts are added to.
  std::uint32_t set_ = 0;
  std::vector<Start> starts_;
  double least_start_ = 0, rest_ = 0;  // of what is not in it
  std::size_t left_ = 0;
  std::vector<bool> inside_, in_part_, has_room_;
  std::vector<std::uint32_t> open_, missing_, readers_, shared_, part_;
  std::set<std::uint32_t> next_;  // items that may come next
  std::vector<Load> loads_;       // by step and class
  std::vector<Step> path_;

  // Where links differ: by class the first with the same link, by downset and tensor whose link the tensor
  // was made behind, and of the downset at hand how many of its items read it.
  std::vector<std::uint8_t> link_, labels_;
  std::vector<std::uint32_t> consumed_;
  bool has_labels_ = false;
};

}  // namespace opscope
