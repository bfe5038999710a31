// POSIX files: what the standard streams hide (why it failed, whether it reached the disk) is what matters
// here.
#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace opscope {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  // Closing may be what reports that the disk is full.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

std::string reason(int code) {
  auto text = std::generic_category().message(code);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string write_hint(const std::string& path, int code) {
  switch (code) {
    case ENOENT:
      return fmt::format("the folder {} does not exist; make it first, or choose another", folder_of(path));
    case ENOSPC:
    case EDQUOT:
      return "make room on the disk, or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a path that you may write to";
    case EISDIR:
      return "give the name of a file in it";
    case ENAMETOOLONG:
      return "choose a shorter name";
    case EFBIG:
      return "files may not grow so large here: `ulimit -f` says how large";
    default:
      return {};
  }
}

[[noreturn]] void fail_read(const std::string& path, int code) {
  throw Error("cannot read the file: " + reason(code), path,
              code == ENOENT   ? "check the path"
              : code == EISDIR ? "give the name of a file in it"
                               : "");
}

// /proc and its like are folders in which a new file "does not exist" rather than being refused.
bool is_closed_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 && ::stat(folder_of(path).c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode);
}

[[noreturn]] void fail_write(const std::string& path, int code) {
  if (code == ENOENT && is_closed_folder(path))
    throw Error("cannot write the file: its folder takes no new files", path, write_hint(path, EACCES));
  throw Error("cannot write the file: " + reason(code), path, write_hint(path, code));
}

// Zero, or the errno of what went wrong.
int write_all(int descriptor, std::string_view bytes) {
  // Larger single writes are cut short by Linux.
  constexpr std::size_t kLargestWrite = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// The same for a text that is made as it is written; after a failure the rest of it goes nowhere.
int write_from(const TextSource& source, int descriptor) {
  int code = 0;
  source([&](std::string_view block) {
    if (code == 0) code = write_all(descriptor, block);
  });
  return code;
}

struct Destination {
  std::string path;        // with symbolic links followed
  mode_t mode = 0;         // of the file that is there; 0: none is
  bool is_direct = false;  // a device or pipe: nothing to rename over
};

// A link that somebody else put into a folder that all write to, as /tmp is: it leads where they want. Linux
// refuses to follow it where fs.protected_symlinks is set.
bool is_planted(const std::string& path) {
  struct stat link {
  }, folder{};
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  if (::stat(folder_of(path).c_str(), &folder) != 0) return false;
  const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return is_shared && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid;
}

// Where a link leads whose target is not there yet; a path that is no link is its own.
std::string end_of_links(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as Linux has it
  fs::path end = path;
  std::error_code failed;
  for (int links = 0; links < kMostLinks && fs::is_symlink(end, failed); ++links)
    end = end.parent_path() / fs::read_symlink(end, failed);  // an absolute target stands alone
  return end.string();
}

Destination destination_of(const std::string& path) {
  Destination found{.path = path};
  struct stat status {};
  if (is_planted(path)) fail_write(path, EACCES);
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail_write(path, errno);
    if (path.empty() || path.back() == '/') fail_write(path, path.empty() ? ENOENT : EISDIR);
    found.path = end_of_links(path);
    return found;
  }
  if (S_ISDIR(status.st_mode)) fail_write(path, EISDIR);
  found.is_direct = !S_ISREG(status.st_mode);
  found.mode = status.st_mode & 07777;
  std::error_code failed;
  if (const auto real = std::filesystem::canonical(path, failed); !failed) found.path = real.string();
  // Renaming over it would need no permission on the file itself; its owner may have meant it to stay.
  if (::access(found.path.c_str(), W_OK) != 0) fail_write(path, errno);
  return found;
}

// A name beside the path's that is as long as names may be at most.
std::string temporary_name(const std::string& path) {
  constexpr std::string_view kEnd = ".XXXXXX";
  const auto name = path.rfind('/') + 1;  // 0 where there is none
  return path.substr(0, std::min(path.size(), name + NAME_MAX - kEnd.size())).append(kEnd);
}

// A new file beside the destination, removed again unless it is renamed.
class TemporaryFile {
 public:
  TemporaryFile(const Destination& destination, const std::string& shown_path)
      : name_(temporary_name(destination.path)), file_(::mkostemp(name_.data(), O_CLOEXEC)) {
    if (!file_.is_open()) fail_write(shown_path, errno);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!renamed_) ::unlink(name_.c_str());
  }

  int write(const TextSource& source, mode_t mode) {
    if (const int code = write_from(source, file_.get())) return code;
    if (::fchmod(file_.get(), mode) != 0) return errno;
    if (::fsync(file_.get()) != 0) return errno;
    return file_.close() ? 0 : errno;
  }
  int rename_to(const std::string& path) {
    renamed_ = ::rename(name_.c_str(), path.c_str()) == 0;
    return renamed_ ? 0 : errno;
  }

 private:
  std::string name_;
  File file_;
  bool renamed_ = false;
};

// The permissions open() would give a new file. Asking for the mask means setting it for a moment, so it is
// asked once, on first use.
mode_t default_mode() {
  static const mode_t mask = [] {
    const auto current = ::umask(022);
    ::umask(current);
    return current;
  }();
  return 0666 & ~mask;
}

int write_direct(const std::string& path, const TextSource& source) {
  File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  if (const int code = write_from(source, file.get())) return code;
  return file.close() ? 0 : errno;
}

}  // namespace

std::string read_file(const std::string& path) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) fail_read(path, errno);
  if (S_ISDIR(status.st_mode)) fail_read(path, EISDIR);
  // The size is a first guess only: pipes have none, and a file may be growing.
  constexpr std::size_t kLeast = 4096;
  const std::size_t expected = std::max(static_cast<std::size_t>(status.st_size) + 1, kLeast);
  std::string bytes;
  bytes.reserve(expected + kReadPadding);
  bytes.resize(expected);
  for (std::size_t used = 0;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() * 2);
    const auto got = ::read(file.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_read(path, errno);
    used += static_cast<std::size_t>(got);
    if (got != 0) continue;
    bytes.resize(used);
    return bytes;
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  write_file(path, [bytes](const TextSink& sink) { sink(bytes); });
}

void write_file(const std::string& path, const TextSource& source) {
  const auto destination = destination_of(path);
  if (destination.is_direct) {
    if (const int code = write_direct(path, source)) fail_write(path, code);
    return;
  }
  TemporaryFile file(destination, path);
  const auto mode = destination.mode != 0 ? destination.mode : default_mode();
  if (const int code = file.write(source, mode)) fail_write(path, code);
  if (const int code = file.rename_to(destination.path)) fail_write(path, code);
}

void check_writable(const std::string& path) {
  const auto destination = destination_of(path);
  if (!destination.is_direct) TemporaryFile probe(destination, path);
}

std::optional<FileStamp> file_stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileStamp{static_cast<std::uint64_t>(status.st_size),
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string cache_folder() {
  if (std::string folder = environment_variable("OPSCOPE_CACHE_DIR"); !folder.empty()) return folder;
  if (const std::string folder = environment_variable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/opscope";
  const std::string home = environment_variable("HOME");
  return home.empty() ? "" : home + "/.cache/opscope";
}

}  // namespace opscope
