// Bytes that begin as a zip go to the archive's reader; any others are the graph's JSON inside a good
// archive, with what follows a line of "#weights" as the list of weights.
#include "fuzz/model_fuzzer.h"
#include "readers/small_zip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = opscope::text_of(data, size);
  if (bytes.starts_with("PK")) {
    opscope::fuzz_model(bytes);
    return 0;
  }
  const auto cut = std::min(bytes.find("\n#weights\n"), bytes.size());
  const auto rest = bytes.substr(std::min(cut + 10, bytes.size()));
  opscope::fuzz_model(opscope::small_zip({{"m/models/model.json", std::string(bytes.substr(0, cut))},
                                          {"m/data/weights/model_weights_config.json", std::string(rest)}}));
  return 0;
}
