// What the cache folder holds and how large it may grow: beyond its limit, the files that were used longest
// ago go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/count.h"

namespace opscope {

inline constexpr Count kDefaultCacheLimit{2'000'000'000};

struct CacheFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;  // when it was last written or read
};

struct CacheContents {
  std::string folder;
  std::vector<CacheFile> entries;  // captures and lists of models, the one used longest ago first
  std::vector<CacheFile> times;    // the file of op times, and what SQLite keeps beside it
  Count limit = kDefaultCacheLimit;

  static std::uint64_t bytes(const std::vector<CacheFile>& files);
};

// Of cache_folder(). Throws Error where no folder is known.
CacheContents cache_contents();
// Keeps the limit for later runs, and keeps within it now. Throws Error where it cannot be written.
void set_cache_limit(const CacheContents& contents, Count limit);

// What was removed of `files`: all, or from the front until the rest is within the limit.
std::vector<CacheFile> remove_files(const std::vector<CacheFile>& files, Count limit = Count{0});
// After something was written into it.
void keep_within_limit(const std::string& folder);

}  // namespace opscope
