// Which kind of model file this is, told from its content, and the way from the file to a graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "readers/onnx/reader.h"
#include "readers/pt2/symbols.h"

namespace opscope {

enum class FileKind : std::uint8_t {
  kCapture,  // opscope's own
  kPt2,      // torch.export
  kOnnx,
  kTorchScript,  // an archive with code: captured through torch
  kPickle,       // can run code when it is opened: weights files of old and new form
  kProfile,      // opscope's own too: figures, and no graph
  kOther,
};
std::string_view name(FileKind kind);
constexpr bool is_exported(FileKind kind) { return kind == FileKind::kPt2 || kind == FileKind::kOnnx; }
// Without Python.
constexpr bool is_read_here(FileKind kind) {
  return kind == FileKind::kCapture || kind == FileKind::kProfile || is_exported(kind);
}

// By content, reading little of it; kOther for what cannot be opened, is a folder or is none of them.
FileKind classify_file(const std::string& path);
FileKind classify_bytes(std::string_view bytes);

// A .pt2 or .onnx file as a graph. dims: the sizes of dynamic dimensions by name. Throws Error for other
// kinds.
Graph read_model_file(const std::string& path, const Dims& dims, OnnxInference infer = nullptr);
Graph read_model_bytes(std::string_view bytes, const std::string& where, const Dims& dims,
                       OnnxInference infer = nullptr);

}  // namespace opscope
