// Whole files in and out. A write either happens completely or leaves what was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_blocks.h"

namespace opscope {

// Capacity behind the bytes of a file that was read: parsers may look ahead without a copy.
inline constexpr std::size_t kReadPadding = 64;

// The file's bytes. Throws Error where it cannot be opened or read, or is a folder.
std::string read_file(const std::string& path);

// Writes a temporary file in the same folder, flushes it to the disk and renames it over `path`, through
// symbolic links and keeping the permissions of a file that is replaced. Devices and pipes are written
// directly. Throws Error, leaving nothing behind, when that fails (disk full among it).
void write_file(const std::string& path, std::string_view bytes);
void write_file(const std::string& path, const TextSource& source);

// Throws the Error that write_file would, as far as that can be known before there is something to write.
void check_writable(const std::string& path);

// Changes whenever the file does.
struct FileStamp {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
std::optional<FileStamp> file_stamp(const std::string& path);  // none where there is no such file

std::string environment_variable(const char* name);  // "" where it is not set

// Where opscope keeps what it need not make twice: captures, lists of models, times of ops.

// $OPSCOPE_CACHE_DIR, $XDG_CACHE_HOME/opscope or ~/.cache/opscope; "" where none of them is known. It may not
// be there yet.
std::string cache_folder();

}  // namespace opscope
