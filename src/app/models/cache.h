// Captures and lists of models, kept between runs. An entry is used only while every file that it depends on
// is as it was; a cache that is damaged or cannot be written is as good as none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/request/fields.h"
#include "app/worker/python_worker.h"
#include "base/count.h"
#include "base/error.h"
#include "graph/graph.h"

namespace opscope {

class Cache {
 public:
  // In cache_folder(), of what find_python() answers.
  Cache(bool enabled, Listener& listener);

  const std::string& python() const { return python_; }
  // What a request's result depends on besides the files that Python names.
  std::string key(const CaptureRequest& request, std::string_view command, const WriteMore& more = {}) const;

  std::optional<std::string> read(const std::string& key) const;
  void write(const std::string& key, std::string_view bytes) const;
  void complain(const std::string& about) const;

 private:
  std::string path(const std::string& key) const { return folder_ + "/" + key + ".json"; }

  std::string folder_, python_;  // a folder of "" is no cache
  Listener& listener_;
};

// True while the files have their sizes and times.
bool unchanged(const std::vector<Dependency>& files);

// An answer of Python's that is kept, while it is still true. `files`: what it depends on.
template <class Answer, class Files>
std::optional<Answer> cached_answer(const Cache& cache, const std::string& key,
                                    Answer (*read)(std::string_view bytes, const std::string& where),
                                    Files files) {
  const auto bytes = cache.read(key);
  if (!bytes) return std::nullopt;
  try {
    Answer answer = read(*bytes, "cache");
    if (unchanged(std::invoke(files, answer))) return answer;
  } catch (const Error& error) {
    cache.complain(error.what());
  }
  return std::nullopt;
}

// What the cache folder holds and how large it may grow: beyond its limit, the files that were used longest
// ago go.
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

}  // namespace opscope
