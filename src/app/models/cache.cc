// One file per entry, named by its key, replaced whole.
#include "app/models/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "app/models/cache_contents.h"
#include "app/worker/signals.h"
#include "base/cache_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"

namespace opscope {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::int64_t modified_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

Cache::Cache(bool enabled, Listener& listener)
    : folder_(enabled ? cache_folder() : ""), listener_(listener) {}

std::string Cache::key(const std::string& python, const std::string& request_json,
                       const std::string& registry) {
  Hasher hasher;
  hasher.add(OPSCOPE_VERSION).add(std::uint64_t{kSchemaVersion}).add(python).add(request_json);
  hasher.add(variable("PYTHONPATH"));
  for (const char* name : {"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"})
    hasher.add(variable(name));  // where ids are looked up
  struct stat status {};
  if (!registry.empty() && ::stat(registry.c_str(), &status) == 0)
    hasher.add(static_cast<std::uint64_t>(status.st_size))
        .add(static_cast<std::uint64_t>(modified_ns(status)));
  return hasher.hex();
}

std::optional<std::string> Cache::read(const std::string& key) const {
  struct stat status {};
  if (folder_.empty() || ::stat(path(key).c_str(), &status) != 0) return std::nullopt;
  // Used now: the limit removes what was used longest ago.
  ::utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);
  try {
    return read_file(path(key));
  } catch (const Error& error) {
    complain(error.what());
    return std::nullopt;
  }
}

void Cache::write(const std::string& key, std::string_view bytes) const {
  if (folder_.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  const SignalsNoted signals;
  try {
    write_file(path(key), bytes);
    keep_within_limit(folder_);
  } catch (const Error& error) {
    complain(error.what());
  }
}

void Cache::complain(const std::string& about) const {
  listener_.trouble("continuing without the cache in " + folder_ + ": " + about);
}

bool unchanged(const std::vector<Dependency>& files) {
  return std::ranges::all_of(files, [](const Dependency& file) {
    struct stat status {};
    return ::stat(file.path.c_str(), &status) == 0 &&
           static_cast<std::uint64_t>(status.st_size) == file.bytes &&
           modified_ns(status) == file.modified_ns;
  });
}

}  // namespace opscope
