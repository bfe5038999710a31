// Any bytes -> the ONNX reader (and whatever else the bytes look like) -> every stage behind it.
#include "fuzz/model_fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  opscope::fuzz_model(opscope::text_of(data, size));
  return 0;
}
