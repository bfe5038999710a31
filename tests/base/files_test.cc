// Files written whole or not at all.
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/hash.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "opscope_files_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  template <class Action>
  static std::string message(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.where() + " | " + error.hint();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(Files, WritesAndReads) {
  const std::string bytes("a\0b\n", 4);
  write_file(path("x"), bytes);
  EXPECT_EQ(read_file(path("x")), bytes);
  write_file(path("x"), "");
  EXPECT_EQ(read_file(path("x")), "");
  const std::string large(3'000'000, 'z');
  write_file(path("x"), large);
  EXPECT_EQ(read_file(path("x")), large);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ReadingSaysWhatIsWrong) {
  EXPECT_EQ(message([&] { read_file(path("none")); }),
            "cannot read the file: no such file or directory | " + path("none") + " | check the path");
  EXPECT_EQ(
      message([&] { read_file(folder_.string()); }),
      "cannot read the file: is a directory | " + folder_.string() + " | give the name of a file in it");
}

TEST_F(Files, WritingSaysWhatIsWrong) {
  EXPECT_EQ(message([&] { write_file(path("no/x"), "a"); }),
            "cannot write the file: no such file or directory | " + path("no/x") + " | the folder " +
                path("no") + " does not exist; make it first, or choose another");
  EXPECT_EQ(message([&] { check_writable(path("no/x")); }), message([&] { write_file(path("no/x"), "a"); }));
  EXPECT_EQ(
      message([&] { check_writable(folder_.string()); }),
      "cannot write the file: is a directory | " + folder_.string() + " | give the name of a file in it");
  EXPECT_NE(message([&] { write_file("", "a"); }), "no error");
  EXPECT_NE(message([&] { write_file(path("x/"), "a"); }), "no error");
}

TEST_F(Files, CheckingLeavesNothingBehind) {
  check_writable(path("x"));
  EXPECT_EQ(entries(), 0u);
  write_file(path("x"), "old");
  check_writable(path("x"));
  EXPECT_EQ(read_file(path("x")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, KeepsPermissionsAndFollowsLinks) {
  write_file(path("real"), "1");
  ::chmod(path("real").c_str(), 0640);
  fs::create_symlink("real", path("link"));
  write_file(path("link"), "2");
  EXPECT_EQ(read_file(path("real")), "2");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(static_cast<unsigned>(fs::status(path("real")).permissions()), 0640u);
}

TEST_F(Files, FollowsLinksToFilesThatAreNotThereYet) {
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/real", path("link"));
  fs::create_symlink(path("link"), path("link_to_link"));
  check_writable(path("link_to_link"));
  write_file(path("link_to_link"), "1");
  EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("link_to_link")));
  EXPECT_EQ(read_file(path("folder/real")), "1");
}

TEST_F(Files, DevicesAreWrittenDirectly) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(message([] { write_file("/dev/full", "x"); }),
            "cannot write the file: no space left on device | /dev/full | make room on the disk, or write "
            "elsewhere");
}

// A limit on file sizes stands in for the full disk: the write fails half way, what was there stays.
TEST_F(Files, AFailedWriteLeavesTheOldFile) {
  write_file(path("x"), "old");
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto limit = before;
  limit.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const auto said = message([&] { write_file(path("x"), std::string(100000, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(said.substr(0, 37), "cannot write the file: file too large");
  EXPECT_EQ(read_file(path("x")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST(Hash, IsFnv1a) {
  EXPECT_EQ(hash64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(Hasher().hex(), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(Hasher().add_raw("foobar").hex(), "343e1662793c64bf6f0d3597ba446f18");
}

TEST(Hash, PartsAreKeptApart) {
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_NE(Hasher().add("").hex(), Hasher().hex());
  EXPECT_EQ(Hasher().add("a").add(std::uint64_t{5}).hex(), Hasher().add("a").add(std::uint64_t{5}).hex());
}

}  // namespace
}  // namespace opscope
