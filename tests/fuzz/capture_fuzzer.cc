// Any bytes at all -> reader -> every stage behind it. Bad input must end in an Error; what is accepted must
// be written and read back as the same bytes and go through cost, roll-up and report without a fault.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
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

void use(const opscope::Graph& graph) {
  const auto written = opscope::write_json(graph);
  require(written == opscope::write_json(opscope::read_capture(written, "rewritten")));
  const auto profile = opscope::make_profile(graph);
  require(!opscope::to_json(profile).empty());
  if (graph.ops.size() > kMostOpsForText) return;
  require(!opscope::to_text(profile).empty());
  require(!opscope::to_csv(profile).empty());
  require(!opscope::to_markdown(profile).empty());
}

// An Error is the answer for bad input. Anything else, InternalError among it, is a finding; and so is an
// Error from a stage behind the reader, which has verified the graph.
std::optional<opscope::Graph> read(std::string_view bytes) {
  try {
    return opscope::read_capture(bytes, "fuzz");
  } catch (const opscope::Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  opscope::looks_like_capture(bytes);
  if (const auto graph = read(bytes)) use(*graph);
  return 0;
}
