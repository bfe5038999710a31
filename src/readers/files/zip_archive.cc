// Zip as APPNOTE 6.3 has it, as far as model files use it: stored and deflated members, zip64, no encryption.
#include "readers/files/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"

namespace opscope {
namespace {

constexpr std::string_view kLocal{"PK\x03\x04", 4};
constexpr std::string_view kCentral{"PK\x01\x02", 4};
constexpr std::string_view kEnd{"PK\x05\x06", 4};
constexpr std::string_view kEnd64{"PK\x06\x06", 4};
constexpr std::string_view kLocator64{"PK\x06\x07", 4};
constexpr std::uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kLocatorBytes = 20;
constexpr std::uint64_t kInMore = 0xffffffff;  // "see the zip64 field"
constexpr std::uint64_t kMostMembers = 1'000'000;
// Graphs as JSON pack to a tenth to a fiftieth. Small members may claim more: they cannot do harm.
constexpr std::uint64_t kMostRatio = 200, kFreeBytes = std::uint64_t{16} << 20;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (auto i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

bool looks_like_zip(std::string_view bytes) { return bytes.starts_with(kLocal) || bytes.starts_with(kEnd); }

ZipArchive::ZipArchive(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {
  auto [at, count] = find_directory();
  if (count > kMostMembers) fail("has more than a million members");
  for (; count > 0; --count) {
    members_.push_back(read_member(at));
    at += kCentralBytes + number(at + 28, 2) + number(at + 30, 2) + number(at + 32, 2);
  }
}

void ZipArchive::fail(const std::string& what) const {
  throw Error("the zip archive " + what, where_, "the file is damaged; save or download it again");
}

std::uint64_t ZipArchive::number(std::uint64_t at, int width) const {
  const auto size = static_cast<std::uint64_t>(width);
  if (at > bytes_.size() || bytes_.size() - at < size) fail("is cut off");
  return little_endian(bytes_.substr(at, size));
}

// The end record is the last thing but for a comment of up to 64 KB.
ZipArchive::Directory ZipArchive::find_directory() const {
  if (bytes_.size() < kEndBytes) fail("is cut off");
  const auto first = bytes_.size() > kEndBytes + 0xffff ? bytes_.size() - kEndBytes - 0xffff : 0;
  const auto found = bytes_.substr(first).rfind(kEnd);
  if (found == std::string_view::npos) fail("has no directory: it is cut off");
  const auto end = first + found;
  if (bytes_.size() - end < kEndBytes) fail("is cut off");
  const auto wide = zip64_directory(end);
  const Directory directory =
      wide ? *wide : Directory{.offset = number(end + 16, 4), .count = number(end + 10, 2)};
  if (directory.offset > bytes_.size()) fail("has a directory outside the file");
  return directory;
}

std::optional<ZipArchive::Directory> ZipArchive::zip64_directory(std::uint64_t end) const {
  if (end < kLocatorBytes || bytes_.substr(end - kLocatorBytes, 4) != kLocator64) return std::nullopt;
  const auto at = number(end - kLocatorBytes + 8, 8);
  if (at > bytes_.size() || bytes_.substr(at, 4) != kEnd64) fail("has a bad zip64 record");
  return Directory{.offset = number(at + 48, 8), .count = number(at + 32, 8)};
}

ZipMember ZipArchive::read_member(std::uint64_t at) const {
  if (at > bytes_.size() || bytes_.substr(at, 4) != kCentral) fail("has a damaged directory");
  ZipMember member;
  member.encrypted = (number(at + 8, 2) & 1) != 0;
  member.method = static_cast<std::uint16_t>(number(at + 10, 2));
  member.stored_size = number(at + 20, 4);
  member.size = number(at + 24, 4);
  member.offset = number(at + 42, 4);
  const auto name_size = number(at + 28, 2), extra_size = number(at + 30, 2);
  if (bytes_.size() - at - kCentralBytes < name_size + extra_size) fail("is cut off");
  member.name = bytes_.substr(at + kCentralBytes, name_size);
  read_zip64_sizes(member, bytes_.substr(at + kCentralBytes + name_size, extra_size));
  return member;
}

// The extra field 1 holds, in this order, each number that did not fit.
void ZipArchive::read_zip64_sizes(ZipMember& member, std::string_view extra) const {
  while (extra.size() >= 4) {
    const auto id = little_endian(extra.substr(0, 2)), size = little_endian(extra.substr(2, 2));
    extra.remove_prefix(4);
    if (size > extra.size()) return;
    auto field = extra.substr(0, size);
    extra.remove_prefix(size);
    if (id != 1) continue;
    for (std::uint64_t* const item : {&member.size, &member.stored_size, &member.offset}) {
      if (*item != kInMore || field.size() < 8) continue;
      *item = little_endian(field.substr(0, 8));
      field.remove_prefix(8);
    }
  }
}

const ZipMember* ZipArchive::find_ending(std::string_view ending) const {
  const auto found = std::ranges::find_if(
      members_, [&](std::string_view name) { return name.ends_with(ending); }, &ZipMember::name);
  return found == members_.end() ? nullptr : &*found;
}

std::string_view ZipArchive::packed(const ZipMember& member) const {
  if (member.offset > bytes_.size() || bytes_.substr(member.offset, 4) != kLocal)
    fail("has a member outside the file");
  const auto begin =
      member.offset + kLocalBytes + number(member.offset + 26, 2) + number(member.offset + 28, 2);
  if (begin > bytes_.size() || bytes_.size() - begin < member.stored_size) fail("is cut off");
  return bytes_.substr(begin, member.stored_size);
}

std::string ZipArchive::read(const ZipMember& member) const {
  if (member.encrypted) fail("is encrypted");
  const auto from = packed(member);
  if (member.method == 0) return std::string(from);
  if (member.method != 8) fail(fmt::format("uses compression method {}", member.method));
  if (member.size > kFreeBytes && member.size / kMostRatio > from.size())
    fail("would unpack to far more than a model's graph");
  std::string out(member.size, '\0');
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail("cannot be unpacked");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(from.size(), ~uInt{0}));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min<std::uint64_t>(out.size(), ~uInt{0}));
  const int code = ::inflate(&stream, Z_FINISH);
  const auto made = stream.total_out;
  ::inflateEnd(&stream);
  if (code != Z_STREAM_END || made != member.size) fail("has a damaged member");
  return out;
}

}  // namespace opscope
