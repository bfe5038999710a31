// Loads plugin/onnx_shapes.cc at its first use.
#include "app/models/onnx_inference.h"

#include <dlfcn.h>

#include <filesystem>

namespace opscope {
namespace {

using Infer = void (*)(const std::string& bytes, std::string& result);

// Installed under lib/ beside the program's bin/; in a build folder, beside the program itself.
Infer load() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return nullptr;
  for (const char* place : {"../lib/opscope/" OPSCOPE_ONNX_PLUGIN, OPSCOPE_ONNX_PLUGIN}) {
    const std::string path = self.parent_path() / place;
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return reinterpret_cast<Infer>(::dlsym(library, "opscope_infer_onnx_shapes"));
  }
  return nullptr;
}

std::string infer(const std::string& bytes) {
  static const Infer function = load();
  std::string result;
  if (function) function(bytes, result);
  return result;
}

}  // namespace

OnnxInference onnx_inference() { return infer; }

}  // namespace opscope
