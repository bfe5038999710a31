// All that figures hold, as text: two of them are the same where their texts are.
#pragma once

#include <fmt/format.h>

#include "analyse/profile/figures.h"

namespace opscope::test {

inline std::string text_of(const Metrics& m) {
  return fmt::format("{} {} {} | {} | {} {} {} | {} {} | {} {} {} {}", m.work.macs.value(),
                     m.work.other_flops.value(), m.work.specials.value(), m.flops.value(),
                     m.traffic.input_bytes.value(), m.traffic.output_bytes.value(),
                     m.traffic.weight_bytes.value(), m.ops, name(m.confidence), m.time.value(),
                     m.roofline_time.value(), m.compute_bound_time.value(), m.roofline_unknown);
}
inline std::string text_of(const Parameters& p) {
  return fmt::format("{} {} {} {} {}", p.total.value(), p.trainable.value(), p.bytes.value(),
                     p.buffers.value(), p.buffer_bytes.value());
}
inline std::string text_of(const Band& band) {
  return fmt::format("{} {} {} {}\n", band.ops, band.flops.value(), band.memory_bytes.value(),
                     band.roofline_time.value());
}
inline std::string text_of(const FigureRow& row) {
  return fmt::format("{} {} {} {} {} | {} | {}\n", row.name, row.type, row.output_shape, row.depth, row.calls,
                     text_of(row.parameters), text_of(row.metrics));
}

inline std::string text_of(const Figures& f) {
  std::string text =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{}\n{}\n{}\n{} {} {} {} {}\n", f.model, f.source, f.inputs,
                  f.convention, f.device, f.device_id, f.measured_on, f.is_training, text_of(f.totals),
                  text_of(f.parameters), f.peak_memory_bytes.value(), f.peak_at, f.subgraphs,
                  f.fused_bytes.value(), f.fused_roofline_time.value());
  text += fmt::format("{} {} {} {} {}\n", f.coverage.ops, f.coverage.exact, f.coverage.estimated,
                      f.coverage.upper_bound, f.coverage.unknown);
  for (const SlowOp& op : f.coverage.unknown_ops) text += fmt::format("{} {}\n", op.op, op.count);
  const BottleneckSummary& b = f.bottlenecks;
  text += fmt::format("{}\n", b.ridge) + text_of(b.compute_bound) + text_of(b.memory_bound) +
          text_of(b.over_100) + text_of(b.from_50_to_100) + text_of(b.from_10_to_50) + text_of(b.under_10);
  for (const TypeRow& row : f.types)
    text += fmt::format("{} {} {}\n", row.type, name(row.category), text_of(row.metrics));
  for (const FigureRow& row : f.modules) text += text_of(row);
  for (const FigureRow& row : f.layers) text += text_of(row);
  for (const std::string& field : f.missing) text += "missing " + field + "\n";
  return text;
}

}  // namespace opscope::test
