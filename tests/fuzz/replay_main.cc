// Runs a fuzz target over files and folders without libFuzzer: the corpus as an ordinary test.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::string> files_under(const std::string& path) {
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(path)) return {path};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const std::string& file) {
  try {
    const auto bytes = opscope::read_file(file);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t ran = 0, failed = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& file : files_under(argv[i])) {
      ++ran;
      if (!replay(file)) ++failed;
    }
  std::printf("%zu inputs, %zu failed\n", ran, failed);
  return ran != 0 && failed == 0 ? 0 : 1;
}
