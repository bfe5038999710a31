// Good archives, and every way in which one can lie about itself.
#include "readers/files/zip_archive.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "readers/small_zip.h"

namespace opscope {
namespace {

std::string what(const std::string& bytes) {
  try {
    const ZipArchive archive(bytes, "file");
    for (const auto& member : archive.members()) static_cast<void>(archive.read(member));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ZipArchive, ReadsStoredAndDeflatedMembers) {
  const std::string text(5000, 'x');
  for (const bool deflate : {false, true}) {
    const auto bytes = small_zip({{"a/one.json", "{}"}, {"a/two", text}}, deflate);
    ASSERT_TRUE(looks_like_zip(bytes));
    const ZipArchive archive(bytes, "file");
    ASSERT_EQ(archive.members().size(), 2u);
    EXPECT_EQ(archive.read(*archive.find_ending("two")), text);
    EXPECT_EQ(archive.read(archive.members()[0]), "{}");
    EXPECT_EQ(archive.find_ending("three"), nullptr);
  }
}

TEST(ZipArchive, EveryCutEndsInAnError) {
  for (const bool deflate : {false, true}) {
    const auto bytes = small_zip({{"a", "some text"}, {"b", "more of it"}}, deflate);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_NE(what(bytes.substr(0, size)), "") << size;
  }
}

// Any one byte changed: an answer or an Error, and no fault.
TEST(ZipArchive, EveryChangedByteIsSurvived) {
  const auto bytes = small_zip({{"a", "some text"}, {"b", "more of it"}}, true);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {1, 0x80, 0xff}) {
      auto changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      static_cast<void>(what(changed));
    }
}

TEST(ZipArchive, RefusesBombs) {
  auto bytes = small_zip({{"bomb", std::string(std::size_t{64} << 20, '\0')}}, true);
  EXPECT_LT(bytes.size(), 100'000u);
  EXPECT_EQ(what(bytes), "the zip archive would unpack to far more than a model's graph");
  // One that says it is small: it is not unpacked further than it says.
  bytes = small_zip({{"bomb", std::string(1 << 20, '\0')}}, true);
  const auto directory = bytes.rfind(std::string("PK\x01\x02"));
  bytes.replace(directory + 24, 4, std::string("\x10\0\0\0", 4));
  EXPECT_EQ(what(bytes), "the zip archive has a damaged member");
}

TEST(ZipArchive, SaysWhatItCannotRead) {
  auto bytes = small_zip({{"a", "text"}});
  const auto directory = bytes.rfind(std::string("PK\x01\x02"));
  auto changed = bytes;
  changed[directory + 8] = 1;
  EXPECT_EQ(what(changed), "the zip archive is encrypted");
  changed = bytes;
  changed[directory + 10] = 14;
  EXPECT_EQ(what(changed), "the zip archive uses compression method 14");
}

}  // namespace
}  // namespace opscope
