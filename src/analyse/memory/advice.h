// The parts of "what would help". For the memory report only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/memory/memory.h"

namespace opscope {

// Less memory (or, where `is_more`, more) while the ops first..last run.
struct MemoryChange {
  OpId first = 0, last = 0;
  Count bytes{};
  bool is_more = false;
};

// The run with changes: what its peak would be.
class WhatIf {
 public:
  explicit WhatIf(const MemoryTimeline& timeline) : alive_(timeline.alive), peak_(timeline.peak) {}

  Count peak_with(const std::vector<MemoryChange>& changes) const;
  Count saved_by(const std::vector<MemoryChange>& changes) const { return peak_ - peak_with(changes); }
  Count peak() const { return peak_; }
  const std::vector<Count>& alive() const { return alive_; }

 private:
  const std::vector<Count>& alive_;
  Count peak_;
};

// One place where something could be done, before it is known whether that helps.
struct Chance {
  MemoryChange change{};
  OpId place = 0;       // chances with one place are one thing to do
  std::string where{};  // a pattern: chances with equal ones make one advice
  std::string what{};   // the change in words
};

// One advice for each pattern that lowers the peak by itself, and one for all together where that gives more.
// Chances that do not matter for the peak are left out of it.
void add_advice(Remedy remedy, std::vector<Chance> chances, std::string_view together, const WhatIf& what_if,
                MemoryReport& report);

// Less of a piece, as long as it is held.
inline MemoryChange less(const MemoryReport& report, const MemoryPiece& piece, Count bytes) {
  return {piece.first_op(), piece.last_op(report.graph().ops.size()), bytes, false};
}
// nullptr for a value without a storage.
inline const MemoryPiece* piece_of(const MemoryReport& report, ValueId value) {
  const Id storage = report.graph().values[value].storage;
  return storage == kNone ? nullptr : &report.pieces[storage];
}

// "layer1.*, layer2.*, layer3.* and 1 more".
std::string joined(const std::vector<std::string>& patterns);

void advise_in_place(const WhatIf& what_if, MemoryReport& report);
void advise_freeing(const WhatIf& what_if, MemoryReport& report);
void advise_checkpoints(const WhatIf& what_if, MemoryReport& report);
void advise_precision(const WhatIf& what_if, MemoryReport& report);
void advise_scores(const WhatIf& what_if, MemoryReport& report);
void advise_logits(const WhatIf& what_if, MemoryReport& report);
void advise_chunks(const WhatIf& what_if, MemoryReport& report);

// All of them, sorted; what saves less than a thousandth of the peak is left out.
void advise(MemoryReport& report);

}  // namespace opscope
