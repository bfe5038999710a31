// Whole files in and out. A write either happens completely or leaves what was there before.
#pragma once

#include <string>
#include <string_view>

namespace opscope {

// The file's bytes. Throws Error where it cannot be opened or read, or is a folder.
std::string read_file(const std::string& path);

// Writes a temporary file in the same folder, flushes it to the disk and renames it over `path`, through
// symbolic links and keeping the permissions of a file that is replaced. Devices and pipes are written
// directly. Throws Error, leaving nothing behind, when that fails (disk full among it).
void write_file(const std::string& path, std::string_view bytes);

// Throws the Error that write_file would, as far as that can be known before there is something to write.
void check_writable(const std::string& path);

}  // namespace opscope
