// Any bytes at all -> reader -> every stage behind it. Bad input must end in an Error; what is accepted must
// be written and read back as the same bytes and go through cost, roll-up and report without a fault.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "fuzz/use_graph.h"

namespace {

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
  if (const auto graph = read(bytes)) opscope::use(*graph);
  return 0;
}
