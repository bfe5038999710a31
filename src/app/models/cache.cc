// One file per entry, named by its key, replaced whole.
#include "app/models/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

std::string limit_path(const std::string& folder) { return folder + "/limit"; }

// A file that somebody wrote something else into is no limit.
Count limit_of(const std::string& folder) {
  std::error_code none;
  if (!fs::exists(limit_path(folder), none)) return kDefaultCacheLimit;
  try {
    return parse_bytes("limit", read_file(limit_path(folder)));
  } catch (const Error&) {
    return kDefaultCacheLimit;
  }
}

// Entries are named by their keys; whatever else is in the folder is not ours to count or to remove.
bool is_entry(const fs::path& path) {
  const std::string key = path.stem().string();
  return path.extension() == ".json" && !key.empty() &&
         key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// What a run that was killed left of an entry. A younger one may be another run's that still writes.
bool is_left_behind(const fs::path& path) {
  constexpr auto kLongestWrite = std::chrono::hours(1);
  std::error_code failed;
  if (!is_entry(path.stem())) return false;
  const auto written = fs::last_write_time(path, failed);
  return !failed && fs::file_time_type::clock::now() - written > kLongestWrite;
}

CacheContents contents_of(const std::string& folder) {
  CacheContents found{.folder = folder, .entries = {}, .times = {}, .limit = limit_of(folder)};
  std::error_code none;
  for (const auto& item : fs::directory_iterator(folder, none)) {
    const bool times = item.path().filename().string().starts_with("op_times.sqlite");
    if (!times && !is_entry(item.path()) && !is_left_behind(item.path())) continue;
    if (const auto stamp = file_stamp(item.path().string()))
      (times ? found.times : found.entries)
          .push_back({item.path().string(), stamp->bytes, stamp->modified_ns});
  }
  std::ranges::sort(found.entries, {},
                    [](const CacheFile& file) { return std::pair(file.used_ns, file.path); });
  return found;
}

}  // namespace

Cache::Cache(bool enabled, Listener& listener)
    : folder_(enabled ? cache_folder() : ""), python_(find_python()), listener_(listener) {}

std::string Cache::key(const CaptureRequest& request, std::string_view command, const WriteMore& more) const {
  Hasher hasher;
  hasher.add(OPSCOPE_VERSION).add(std::uint64_t{kSchemaVersion}).add(python_);
  hasher.add(to_json(request, command, more)).add(environment_variable("PYTHONPATH"));
  for (const char* name : {"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"})
    hasher.add(environment_variable(name));  // where ids are looked up
  if (const auto stamp = file_stamp(request.registry); stamp && !request.registry.empty())
    hasher.add(stamp->bytes).add(static_cast<std::uint64_t>(stamp->modified_ns));
  return hasher.hex();
}

std::optional<std::string> Cache::read(const std::string& key) const {
  if (folder_.empty() || !file_stamp(path(key))) return std::nullopt;
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
  fs::create_directories(folder_, failed);
  const SignalsNoted signals;
  try {
    write_file(path(key), bytes);
    const CacheContents contents = contents_of(folder_);
    remove_files(contents.entries, contents.limit);
  } catch (const Error& error) {
    complain(error.what());
  }
}

void Cache::complain(const std::string& about) const {
  listener_.trouble("continuing without the cache in " + folder_ + ": " + about);
}

bool unchanged(const std::vector<Dependency>& files) {
  return std::ranges::all_of(files, [](const Dependency& file) {
    return file_stamp(file.path) == FileStamp{file.bytes, file.modified_ns};
  });
}

std::uint64_t CacheContents::bytes(const std::vector<CacheFile>& files) {
  std::uint64_t sum = 0;
  for (const CacheFile& file : files) sum += file.bytes;
  return sum;
}

CacheContents cache_contents() {
  const std::string folder = cache_folder();
  if (folder.empty())
    throw Error("no cache folder is known", "", "set OPSCOPE_CACHE_DIR, XDG_CACHE_HOME or HOME");
  return contents_of(folder);
}

void set_cache_limit(const CacheContents& contents, Count limit) {
  std::error_code none;
  fs::create_directories(contents.folder, none);
  write_file(limit_path(contents.folder), std::to_string(limit.value()));
}

std::vector<CacheFile> remove_files(const std::vector<CacheFile>& files, Count limit) {
  std::vector<CacheFile> removed;
  std::uint64_t left = CacheContents::bytes(files);
  for (const CacheFile& file : files) {
    if (left <= limit.value() && limit) break;
    std::error_code failed;
    if (!fs::remove(file.path, failed)) continue;  // another process may have been first
    left -= file.bytes;
    removed.push_back(file);
  }
  return removed;
}

}  // namespace opscope
