// Any bytes -> the reader of saved profiles -> compared with a small model, and held to a budget. What other
// counters answered, which is JSON of a like kind, is read by its own reader.
#include "analyse/small_models.h"
#include "fuzz/accepted.h"
#include "readers/results/profile_reader.h"
#include "report/check/report.h"
#include "report/compare/report.h"

namespace {

using namespace opscope;

void use(const Figures& figures) {
  static const Graph graph = test::shared_and_unknown();
  static const Figures ours = figures_of(make_profile(graph));
  static const auto limits =
      parse_limits("flops=1,params=2M,peak_memory_bytes=1MiB", LimitKind::kMost, "fuzz");
  const CheckReport reports[] = {check_budget({.label = "read", .figures = &figures}, limits, false)};
  const ModelComparison comparison = compare_models({{"ours", ours}, {"read", figures}});
  for (const Format format : all_formats()) {
    require(!to_format(reports, format).empty());
    require(!to_format(comparison, std::nullopt, format, {}).empty());
  }
  for (const CompareBy by : {CompareBy::kType, CompareBy::kModule})
    accepted([&] { return compare_parts(comparison, by, metric_at("flops"), 3); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  accepted([&] { return read_peer_counts(text, "fuzz"); });
  if (const auto figures = accepted([&] { return read_profile(text, "fuzz"); })) use(*figures);
  return 0;
}
