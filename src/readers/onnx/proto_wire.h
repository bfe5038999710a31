// Protocol buffers' wire format, field by field, over bytes that stay where they are: a tensor's gigabytes
// are one view. Linking libprotobuf instead would bring a second copy of it into processes that have torch's.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace opscope {

class ProtoReader {
 public:
  enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit ProtoReader(std::string_view message) : rest_(message) {}

  // The next field; false at the end and where the bytes are no message, which bad() then says.
  bool next() {
    if (bad_ || rest_.empty()) return false;
    const auto key = read_varint();
    field = static_cast<std::uint32_t>(key >> 3);
    wire = static_cast<std::uint8_t>(key & 7);
    bytes = {};
    number = 0;
    if (field == 0 || key >> 32 != 0) bad_ = true;
    if (!bad_) read_payload();
    return !bad_;
  }
  bool bad() const { return bad_; }

  std::int64_t integer() const { return static_cast<std::int64_t>(number); }
  float real() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number)); }

  // Of a packed list: take() until empty().
  bool empty() const { return rest_.empty() || bad_; }
  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    bad_ = true;
    return 0;
  }
  std::uint64_t read_fixed(std::size_t width) {
    std::uint64_t value = 0;
    if (rest_.size() < width) {
      bad_ = true;
      return 0;
    }
    for (auto i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(width);
    return value;
  }

  std::uint32_t field = 0;
  std::uint8_t wire = 0;
  std::uint64_t number = 0;  // varints and fixed numbers
  std::string_view bytes;    // strings and messages

 private:
  void read_payload() {
    switch (wire) {
      case kVarint:
        number = read_varint();
        break;
      case kFixed64:
        number = read_fixed(8);
        break;
      case kFixed32:
        number = read_fixed(4);
        break;
      case kBytes: {
        const auto size = read_varint();
        bad_ = bad_ || size > rest_.size();
        if (bad_) break;
        bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        break;
      }
      default:
        bad_ = true;  // groups: no longer written by anyone
    }
  }

  std::string_view rest_;
  bool bad_ = false;
};

}  // namespace opscope
