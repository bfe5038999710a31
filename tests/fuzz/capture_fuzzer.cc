// Any bytes at all -> reader -> every stage behind it. Bad input must end in an Error; what is accepted must
// be written and read back as the same bytes and go through cost, roll-up and report without a fault.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analyse/profile.h"
#include "base/error.h"
#include "graph/writer.h"
#include "readers/capture_reader.h"
#include "report/report.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// Reports repeat what the profile holds: their text grows with ops times paths, so the slow ones see small
// graphs only.
constexpr std::size_t kMostOpsForText = 200;

void report(const opscope::Graph& graph) {
  const auto profile = opscope::make_profile(graph);
  require(!opscope::to_json(profile).empty());
  if (graph.ops.size() > kMostOpsForText) return;
  require(!opscope::to_text(profile).empty());
  opscope::to_csv(profile);
  opscope::to_markdown(profile);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  opscope::looks_like_capture(bytes);
  try {
    const auto graph = opscope::read_capture(bytes, "fuzz");
    const auto written = opscope::write_json(graph);
    require(written == opscope::write_json(opscope::read_capture(written, "rewritten")));
    report(graph);
  } catch (const opscope::Error&) {
    // The answer for bad input. Anything else, InternalError among it, is a finding.
  }
  return 0;
}
