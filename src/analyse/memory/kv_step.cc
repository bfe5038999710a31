#include "analyse/memory/kv_step.h"

#include <algorithm>

#include "cost/kv_cache.h"

namespace opscope {
namespace {

// A static cache counts its tokens in tensors of one number.
constexpr Count kCounter = 8;

class Uses {
 public:
  Uses(const Profile& profile, std::span<const MemoryPiece> pieces)
      : profile_(profile), graph_(*profile.graph), pieces_(pieces) {}

  KvStep run() {
    for (OpId op = 0; op < graph_.ops.size(); ++op) add(op);
    const auto weight = [](const KvUse& use) { return use.read + use.written + use.made; };
    for (auto* rows : {&step_.uses, &step_.copies}) std::ranges::stable_sort(*rows, std::greater{}, weight);
    return std::move(step_);
  }

 private:
  Id storage_of(ValueId id) const {
    const Id storage = graph_.values[id].storage;
    if (storage == kNone || pieces_[storage].kind != MemoryKind::kKvCache) return kNone;
    return pieces_[storage].bytes > kCounter ? storage : kNone;
  }

  void add(OpId id) {
    const Op& op = graph_.ops[id];
    const Traffic& moved = profile_.costs[id].traffic;
    if (!moved.total()) return;  // a view
    std::vector<Id> read;
    Count from_cache{};
    each_read(graph_, op, [&](ValueId value) {
      if (const Id storage = storage_of(value); storage != kNone) {
        read.push_back(storage);
        from_cache += bytes_of(graph_, graph_.values[value]);
      }
    });
    bool in_place = false, writes = false;
    for (const ValueId value : graph_.outputs_of(op)) {
      const Id storage = storage_of(value);
      writes = writes || storage != kNone;
      in_place = in_place || (storage != kNone && std::ranges::count(read, storage) != 0);
    }
    if (read.empty() && !writes) return;
    KvUse use{.op = short_op_name(graph_.op_name(op)), .calls = 1};
    if (!in_place) use.read = std::min(from_cache, moved.input_bytes);
    (writes ? use.written : use.made) = moved.output_bytes;
    put(step_.uses, use);
    if (in_place || !writes || !use.read) return;
    put(step_.copies, use);
    step_.copied += use.read + use.written;
  }

  static void put(std::vector<KvUse>& rows, const KvUse& use) {
    const auto found = std::ranges::find(rows, use.op, &KvUse::op);
    if (found == rows.end()) return rows.push_back(use);
    found->calls += use.calls, found->read += use.read;
    found->written += use.written, found->made += use.made;
  }

  const Profile& profile_;
  const Graph& graph_;
  std::span<const MemoryPiece> pieces_;
  KvStep step_;
};

}  // namespace

std::optional<KvStep> kv_step(const Profile& profile, std::span<const MemoryPiece> pieces) {
  const Graph& graph = *profile.graph;
  std::vector<char> is_counted(graph.storages.size());
  Count held{};
  for (const ValueId id : graph.inputs) {
    const Id storage = graph.values[id].storage;
    if (storage == kNone || pieces[storage].kind != MemoryKind::kKvCache) continue;
    if (std::exchange(is_counted[storage], 1) == 0) held += pieces[storage].bytes;
  }
  if (!held) return std::nullopt;
  KvStep step = Uses(profile, pieces).run();
  step.held = held;
  step.added = kv_bytes_per_token(graph.kv_cache) * graph.kv_cache.batch;
  return step;
}

}  // namespace opscope
