// A model file's bytes -> graph, asking for no dimension first and then giving those that the error asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fuzz/use_graph.h"
#include "readers/files/model_file.h"

namespace opscope {

// "give --dim batch=N --dim s77=N" -> sizes for them.
inline Dims asked_dims(std::string_view hint) {
  constexpr std::string_view kFlag = "--dim ";
  Dims dims;
  for (std::int64_t size = 3; dims.size() < 16; ++size) {
    const auto at = hint.find(kFlag);
    if (at == std::string_view::npos) break;
    hint.remove_prefix(at + kFlag.size());
    const auto end = hint.find("=N");
    if (end == std::string_view::npos) break;
    dims[std::string(hint.substr(0, end))] = size;
  }
  return dims;
}

// An Error is the answer for bad input; from a stage behind the reader it is a finding.
inline std::optional<Graph> read_asked(std::string_view bytes) {
  Dims dims;
  for (int round = 0; round < 3; ++round) {
    try {
      return read_model_bytes(bytes, "fuzz", dims);
    } catch (const Error& error) {
      const auto asked = asked_dims(error.hint());
      if (asked.empty()) return std::nullopt;
      dims.insert(asked.begin(), asked.end());
    }
  }
  return std::nullopt;
}

inline void fuzz_model(std::string_view bytes) {
  if (const auto graph = read_asked(bytes)) use(*graph);
}

}  // namespace opscope
