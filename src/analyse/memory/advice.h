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

// What the peak would be with changes, and what they save of it.
Count peak_with(const MemoryReport& report, const std::vector<MemoryChange>& changes);
inline Count saved_by(const MemoryReport& report, const std::vector<MemoryChange>& changes) {
  return report.timeline().peak - peak_with(report, changes);
}

// One place where something could be done, before it is known whether that helps.
struct Chance {
  MemoryChange change{};
  OpId place = 0;       // chances with one place are one thing to do
  std::string where{};  // a pattern: chances with equal ones make one advice
  std::string what{};   // the change in words
};

// One advice for each pattern that lowers the peak by itself, and one for all together where that gives more.
// Chances that do not matter for the peak are left out of it.
void add_advice(Remedy remedy, std::vector<Chance> chances, std::string_view together, MemoryReport& report);

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

void advise_checkpoints(MemoryReport& report);
void advise_scores(MemoryReport& report);
void advise_logits(MemoryReport& report);
void advise_chunks(MemoryReport& report);

// All of them, sorted; what saves less than a thousandth of the peak is left out.
void advise(MemoryReport& report);

}  // namespace opscope
