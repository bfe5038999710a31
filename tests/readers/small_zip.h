// Small zip archives for tests: members as they are, or deflated; sums are left zero, which the reader does
// not ask for.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opscope {

inline void put(std::string& out, std::uint64_t number, int width) {
  for (int i = 0; i < width; ++i) out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

inline std::string deflated(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string small_zip(const std::vector<std::pair<std::string, std::string>>& members,
                             bool deflate = false) {
  std::string out, directory;
  for (const auto& member : members) {
    const std::string &name = member.first, &bytes = member.second;
    const auto stored = deflate ? deflated(bytes) : bytes;
    const auto offset = out.size();
    const auto common = [&](std::string& to) {
      put(to, 20, 2), put(to, 0, 2), put(to, deflate ? 8 : 0, 2), put(to, 0, 4), put(to, 0, 4);
      put(to, stored.size(), 4), put(to, bytes.size(), 4), put(to, name.size(), 2), put(to, 0, 2);
    };
    out += "PK\x03\x04";
    common(out);
    out += name + stored;
    directory += "PK\x01\x02";
    put(directory, 20, 2);
    common(directory);
    put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4),
        put(directory, offset, 4);
    directory += name;
  }
  const auto start = out.size();
  out += directory + "PK\x05\x06";
  put(out, 0, 4), put(out, members.size(), 2), put(out, members.size(), 2), put(out, directory.size(), 4);
  put(out, start, 4), put(out, 0, 2);
  return out;
}

}  // namespace opscope
