// Any bytes at all -> reader -> every stage behind it. Bad input must end in an Error; what is accepted must
// be written and read back as the same bytes and go through cost, roll-up and report without a fault.
#include "fuzz/use_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opscope;
  const std::string_view bytes = text_of(data, size);
  looks_like_capture(bytes);
  // An Error from a stage behind the reader, which has verified the graph, is a finding too.
  if (const auto graph = accepted([&] { return read_capture(bytes, "fuzz"); })) use(*graph);
  return 0;
}
