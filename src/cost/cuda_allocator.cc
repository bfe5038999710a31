#include "cost/cuda_allocator.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

namespace opscope {
namespace {

// As PyTorch has them: a block is a multiple of 512 bytes; up to 1 MiB it comes from a segment of 2 MiB, up
// to 10 MiB from one of 20 MiB, and above from one of its own in steps of 2 MiB. A large block is not split
// where 1 MiB or less would be left.
constexpr std::uint64_t kStep = 512, kSmall = std::uint64_t{1} << 20, kSmallSegment = 2 * kSmall,
                        kLargeSegment = 20 * kSmall, kOwnSegment = 10 * kSmall;

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

class Allocator {
 public:
  using Block = std::uint32_t;
  static constexpr Block kNoBlock = std::numeric_limits<Block>::max();

  Block allocate(std::uint64_t bytes) {
    if (bytes == 0) return kNoBlock;
    const std::uint64_t size = std::max(rounded_up(bytes, kStep), kStep);
    const bool small = size <= kSmall;
    Block block = take(small, size);
    if (block == kNoBlock) block = new_segment(small, size);
    const std::uint64_t left = blocks_[block].size - size;
    if (small ? left >= kStep : left > kSmall) split(block, size);
    blocks_[block].free = false;
    allocated_ += blocks_[block].size;
    most_allocated_ = std::max(most_allocated_, allocated_);
    return block;
  }

  void free(Block block) {
    if (block == kNoBlock) return;
    allocated_ -= blocks_[block].size;
    block = joined(block, blocks_[block].next);
    if (const Block before = blocks_[block].previous; before != kNoBlock && blocks_[before].free) {
      forget(before);
      block = joined(before, block, true);
    }
    blocks_[block].free = true;
    remember(block);
  }

  std::uint64_t most_allocated() const { return most_allocated_; }
  std::uint64_t reserved() const { return reserved_; }

 private:
  struct Part {
    std::uint64_t size;
    Block previous, next;  // in its segment
    bool small, free;
  };
  using Free = std::set<std::pair<std::uint64_t, Block>>;  // the smallest that is large enough is taken

  Free& pool(bool small) { return small ? small_ : large_; }
  void remember(Block block) { pool(blocks_[block].small).insert({blocks_[block].size, block}); }
  void forget(Block block) { pool(blocks_[block].small).erase({blocks_[block].size, block}); }

  Block take(bool small, std::uint64_t size) {
    Free& free = pool(small);
    const auto found = free.lower_bound({size, 0});
    if (found == free.end()) return kNoBlock;
    const Block block = found->second;
    free.erase(found);
    return block;
  }

  Block new_segment(bool small, std::uint64_t size) {
    const std::uint64_t segment = small                ? kSmallSegment
                                  : size < kOwnSegment ? kLargeSegment
                                                       : rounded_up(size, kSmallSegment);
    reserved_ += segment;
    blocks_.push_back({segment, kNoBlock, kNoBlock, small, false});
    return static_cast<Block>(blocks_.size() - 1);
  }

  void split(Block block, std::uint64_t size) {
    const auto rest = static_cast<Block>(blocks_.size());
    blocks_.push_back({blocks_[block].size - size, block, blocks_[block].next, blocks_[block].small, true});
    if (blocks_[rest].next != kNoBlock) blocks_[blocks_[rest].next].previous = rest;
    blocks_[block].next = rest;
    blocks_[block].size = size;
    remember(rest);
  }

  // `block` with the one behind it, where that is free, or is being freed itself.
  Block joined(Block block, Block behind, bool always = false) {
    if (behind == kNoBlock || (!blocks_[behind].free && !always)) return block;
    if (!always) forget(behind);
    blocks_[block].size += blocks_[behind].size;
    blocks_[block].next = blocks_[behind].next;
    if (blocks_[block].next != kNoBlock) blocks_[blocks_[block].next].previous = block;
    return block;
  }

  std::vector<Part> blocks_;
  Free small_, large_;
  std::uint64_t allocated_ = 0, most_allocated_ = 0, reserved_ = 0;
};

// What is made and freed by each op, in the order of the pieces.
struct Schedule {
  Schedule(const Graph& graph, std::span<const MemoryPiece> pieces)
      : made(graph.ops.size()), freed(graph.ops.size()) {
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      const MemoryPiece& piece = pieces[i];
      if (!piece.in_use) continue;
      if (piece.kind == MemoryKind::kWeights || piece.held.made == kNone) {
        there.push_back(i);
      } else {
        made[piece.held.made].push_back(i);
      }
      if (piece.kind != MemoryKind::kWeights && piece.held.freed != kNone)
        freed[piece.held.freed].push_back(i);
    }
    // A model's weights are put on the device before its inputs are made.
    std::ranges::stable_partition(there,
                                  [&](std::uint32_t i) { return pieces[i].kind == MemoryKind::kWeights; });
  }

  std::vector<std::uint32_t> there;  // before the first op
  std::vector<std::vector<std::uint32_t>> made, freed;
};

Allocator run(const Graph& graph, std::span<const MemoryPiece> pieces, const Schedule& schedule,
              std::span<const Count> workspaces, Count pools) {
  Allocator allocator;
  std::vector<Allocator::Block> blocks(pieces.size(), Allocator::kNoBlock);
  const auto make = [&](std::uint32_t piece) {
    blocks[piece] = allocator.allocate(pieces[piece].bytes.value());
  };
  for (const std::uint32_t piece : schedule.there) make(piece);
  allocator.allocate(pools.value());
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    for (const std::uint32_t piece : schedule.made[op]) make(piece);
    const auto temporary = allocator.allocate(graph.ops[op].workspace);
    const auto library = allocator.allocate(workspaces[op].value());
    allocator.free(library);
    allocator.free(temporary);
    for (const std::uint32_t piece : schedule.freed[op]) allocator.free(blocks[piece]);
  }
  return allocator;
}

// Of twelve runs on an H200 with less and less memory none needed more (docs/memory_measured.md): a part more
// than is reserved without a limit, and, since what is cached is given back before memory runs out, than is
// allocated.
constexpr double kOfReserved = 1.03, kOfAllocated = 1.12;

Count share_of(std::uint64_t bytes, double share) {
  return Count{static_cast<std::uint64_t>(static_cast<double>(bytes) * share)};
}

}  // namespace

CudaAllocation simulate_cuda_allocator(const Graph& graph, std::span<const MemoryPiece> pieces,
                                       const LibraryWorkspace& library) {
  const Schedule schedule(graph, pieces);
  const Allocator least = run(graph, pieces, schedule, library.least_by_op, library.pools);
  const Allocator most = run(graph, pieces, schedule, library.most_by_op, library.pools);
  return {Count{least.most_allocated()}, Count{most.most_allocated()}, Count{most.reserved()},
          std::min(share_of(most.reserved(), kOfReserved), share_of(most.most_allocated(), kOfAllocated))};
}

}  // namespace opscope
