// Any bytes at all -> the reader of traces -> joined to a small model, laid out and written as a trace of our
// own. Bad input must end in an Error; what is accepted must go through every stage without a fault.
#include "analyse/small_models.h"
#include "analyse/trace/joined.h"
#include "fuzz/use_graph.h"
#include "readers/kineto/reader.h"
#include "report/times/times.h"
#include "report/trace/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opscope;
  static const Graph model = test::ResNet18::make();
  const auto trace = accepted([&] {
    return join_trace(model, read_kineto_bytes(text_of(data, size), "fuzz",
                                               {.most_records = 5000, .most_event_bytes = 1 << 16}));
  });
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
