// Any bytes at all -> the reader of traces -> joined to a small model, laid out and written as a trace of our
// own. Bad input must end in an Error; what is accepted must go through every stage without a fault.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "analyse/small_models.h"
#include "analyse/trace/joined.h"
#include "base/error.h"
#include "fuzz/use_graph.h"
#include "readers/kineto/reader.h"
#include "report/times/times.h"
#include "report/trace/report.h"

namespace {

using namespace opscope;

std::optional<JoinedTrace> joined(const Graph& graph, std::string_view bytes) {
  try {
    return join_trace(graph,
                      read_kineto_bytes(bytes, "fuzz", {.most_records = 5000, .most_event_bytes = 1 << 16}));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Graph model = test::ResNet18::make();
  const auto trace = joined(model, {reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  Graph graph = model;
  graph.measurement = trace->measurement;
  graph.verify();
  const Profile profile = make_profile(graph);
  require(!chrome_trace(profile).empty());
  for (const Format format : {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml})
    require(!joined_trace_report(profile, *trace, "fuzz", format).empty());
  return 0;
}
