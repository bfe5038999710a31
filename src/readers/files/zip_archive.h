// The members of a zip archive that is in memory or mapped: names from the central directory, bytes on
// demand. What is not asked for is never looked at. Every offset and size is checked against the bytes there
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

struct ZipMember {
  std::string_view name;
  std::uint64_t offset = 0;       // of its local header
  std::uint64_t stored_size = 0;  // in the archive
  std::uint64_t size = 0;         // unpacked
  std::uint16_t method = 0;       // 0: as it is, 8: deflate
  bool encrypted = false;
};

bool looks_like_zip(std::string_view bytes);

class ZipArchive {
 public:
  // `bytes` must outlive the archive. Throws Error where there is no readable directory.
  ZipArchive(std::string_view bytes, std::string where);

  const std::vector<ZipMember>& members() const { return members_; }
  // The first member whose name ends so; nullptr where there is none.
  const ZipMember* find_ending(std::string_view ending) const;
  // The member's bytes. Throws Error for damage, encryption, an unknown method, and for what would unpack to
  // much more than it takes in the archive.
  std::string read(const ZipMember& member) const;

 private:
  struct Directory {
    std::uint64_t offset, count;
  };
  [[noreturn]] void fail(const std::string& what) const;
  std::uint64_t number(std::uint64_t at, int width) const;
  Directory find_directory() const;
  std::optional<Directory> zip64_directory(std::uint64_t end) const;
  ZipMember read_member(std::uint64_t at) const;
  void read_zip64_sizes(ZipMember& member, std::string_view extra) const;
  std::string_view packed(const ZipMember& member) const;

  std::string_view bytes_;
  std::string where_;
  std::vector<ZipMember> members_;
};

}  // namespace opscope
