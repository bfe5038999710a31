#include "app/models/cache_contents.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/files.h"
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

CacheContents contents_of(const std::string& folder) {
  CacheContents found{.folder = folder, .entries = {}, .times = {}, .limit = limit_of(folder)};
  std::error_code none;
  for (const auto& item : fs::directory_iterator(folder, none)) {
    struct stat status {};
    const std::string path = item.path().string();
    const bool times = item.path().filename().string().starts_with("op_times.sqlite");
    if ((!times && !is_entry(item.path())) || ::stat(path.c_str(), &status) != 0) continue;
    (times ? found.times : found.entries)
        .push_back({path, static_cast<std::uint64_t>(status.st_size),
                    std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec});
  }
  std::ranges::sort(found.entries, {},
                    [](const CacheFile& file) { return std::pair(file.used_ns, file.path); });
  return found;
}

}  // namespace

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

void keep_within_limit(const std::string& folder) {
  const CacheContents contents = contents_of(folder);
  remove_files(contents.entries, contents.limit);
}

}  // namespace opscope
