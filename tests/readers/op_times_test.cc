// The stored times of ops: kept, replaced, shared by processes; and files that are not ours left as they are.
#include "readers/results/op_times.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/files.h"

#ifdef OPSCOPE_SQLITE
#include <sqlite3.h>
#endif

namespace opscope {
namespace {

class OpTimeStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!OpTimeStore::available()) GTEST_FAIL() << "SQLite is not there: install libsqlite3-dev";
    std::string pattern = testing::TempDir() + "/op_times_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/times.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string complaint() const {
    try {
      OpTimeStore times(path_);
      return "";
    } catch (const Error& problem) {
      EXPECT_EQ(problem.where(), path_);
      EXPECT_FALSE(problem.hint().empty());
      return problem.what();
    }
  }

  std::string folder_, path_;
};

constexpr OpTime kTime{.median_ns = 812.5,
                       .mean_ns = 820.25,
                       .deviation_ns = 3.5,
                       .minimum_ns = 800,
                       .batches = 20,
                       .repetitions = 20'000,
                       .waited = true};

TEST_F(OpTimeStoreTest, KeepsAllFields) {
  OpTimeStore(path_).add("cpu", {{"aten::relu", kTime}});
  const auto found = OpTimeStore(path_).find("cpu", "aten::relu");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->median_ns, kTime.median_ns);
  EXPECT_EQ(found->mean_ns, kTime.mean_ns);
  EXPECT_EQ(found->deviation_ns, kTime.deviation_ns);
  EXPECT_EQ(found->minimum_ns, kTime.minimum_ns);
  EXPECT_EQ(found->batches, kTime.batches);
  EXPECT_EQ(found->repetitions, kTime.repetitions);
  EXPECT_TRUE(found->waited);
}

TEST_F(OpTimeStoreTest, EnvironmentsAndSignaturesAreApart) {
  OpTimeStore times(path_);
  times.add("one", {{"a", {.median_ns = 1}}, {"b", {.median_ns = 2}}});
  times.add("other", {{"a", {.median_ns = 3}}});
  EXPECT_EQ(times.find("one", "a")->median_ns, 1);
  EXPECT_EQ(times.find("one", "b")->median_ns, 2);
  EXPECT_EQ(times.find("other", "a")->median_ns, 3);
  EXPECT_FALSE(times.find("other", "b"));
  EXPECT_FALSE(times.find("third", "a"));
  times.add("one", {{"a", {.median_ns = 4}}});
  EXPECT_EQ(times.find("one", "a")->median_ns, 4);
  EXPECT_EQ(times.size(), 3u);
}

TEST_F(OpTimeStoreTest, MakesItsFolder) {
  OpTimeStore times(folder_ + "/a/b/times.sqlite");
  EXPECT_EQ(times.size(), 0u);
}

TEST_F(OpTimeStoreTest, ProcessesTakeTurns) {
  constexpr int kProcesses = 4, kRows = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        for (int row = 0; row < kRows; ++row)
          OpTimeStore(path_).add("cpu", {{std::to_string(process * kRows + row), kTime}});
      } catch (const std::exception&) {
        status = 1;
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(OpTimeStore(path_).size(), static_cast<std::uint64_t>(kProcesses * kRows));
}

TEST_F(OpTimeStoreTest, DamagedFilesAreLeftAlone) {
  const std::string noise(5000, '\x5a');
  write_file(path_, noise);
  EXPECT_NE(complaint().find("cannot be used"), std::string::npos);
  EXPECT_EQ(read_file(path_), noise);
}

TEST_F(OpTimeStoreTest, DamageInsideIsAnError) {
  std::vector<OpTimeStore::Row> rows;
  for (int i = 0; i < 500; ++i) rows.push_back({std::string(100, 'x') + std::to_string(i), kTime});
  OpTimeStore(path_).add("cpu", rows);
  std::string bytes = read_file(path_);
  ASSERT_GT(bytes.size(), 20'000u);
  std::fill(bytes.begin() + 4096, bytes.end(), '\x5a');  // the header's page stays
  write_file(path_, bytes);
  EXPECT_THROW((void)OpTimeStore(path_).find("cpu", rows[0].signature), Error);
  EXPECT_THROW(OpTimeStore(path_).add("cpu", rows), Error);
  EXPECT_EQ(read_file(path_), bytes);
}

TEST_F(OpTimeStoreTest, FoldersAreNoFiles) {
  std::filesystem::create_directory(path_);
  EXPECT_NE(complaint().find("cannot be opened"), std::string::npos);
}

#ifdef OPSCOPE_SQLITE
void run_sql(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST_F(OpTimeStoreTest, AnotherProgramsDatabaseIsLeftAlone) {
  run_sql(path_, "CREATE TABLE mails (id INTEGER)");
  const auto bytes = read_file(path_);
  EXPECT_NE(complaint().find("another program"), std::string::npos);
  EXPECT_EQ(read_file(path_), bytes);
}

TEST_F(OpTimeStoreTest, AnotherVersionIsLeftAlone) {
  OpTimeStore(path_).add("cpu", {{"a", kTime}});
  run_sql(path_, "PRAGMA user_version = 77");
  const auto bytes = read_file(path_);
  EXPECT_NE(complaint().find("version 77"), std::string::npos);
  EXPECT_EQ(read_file(path_), bytes);
}
#endif

TEST(EnvironmentKey, HoldsWhatTimesDependOn) {
  Environment at;
  at.device = "cuda:1", at.device_name = "NVIDIA H200", at.host = "A Processor", at.torch = "2.13.0";
  at.runtime = "CUDA 13.0", at.driver = "580.1", at.precision = "high", at.threads = 4;
  const auto key = environment_key(at, "cudnn benchmark");
  EXPECT_EQ(key,
            "method 1; device cuda; name NVIDIA H200; host A Processor; torch 2.13.0; runtime CUDA 13.0; "
            "driver 580.1; "
            "threads 4; precision high; settings cudnn benchmark");
  at.clocks_mhz = {{"graphics before", 1980}};
  at.dtype = "float16";  // of the weights: signatures have their own
  EXPECT_EQ(environment_key(at, "cudnn benchmark"), key);
  at.threads = 2;
  EXPECT_NE(environment_key(at, "cudnn benchmark"), key);
}

}  // namespace
}  // namespace opscope
