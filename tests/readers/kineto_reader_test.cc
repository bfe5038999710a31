// Traces good and bad, whole and cut off, plain and compressed.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "readers/json/items.h"
#include "readers/kineto/reader.h"
#include "readers/small_trace.h"

namespace opscope {
namespace {

using test::SmallTrace;

RecordedTrace read(const std::string& json, const KinetoLimits& limits = {}) {
  return read_kineto_bytes(json, "trace.json", limits);
}

std::string error_of(const std::string& json) {
  try {
    read(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "trace.json");
    return error.what();
  }
  return "no error";
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& end) : path_(testing::TempDir() + "kineto_reader_test" + end) {}
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string compressed(const std::string& text) {
  const TemporaryFile file(".gz");
  const gzFile gz = gzopen(file.path().c_str(), "wb");
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  return read_file(file.path());
}

TEST(KinetoReader, ReadsWhatTellsTimes) {
  SmallTrace trace;
  trace.step(3, 1000, 5000);
  trace.call("aten::relu", 1500, 250, "[[2, 3], []]");
  trace.kernel("relu_kernel", 1600, 2000, 77);
  trace.event("python_function", "nn.Module: ReLU_12", 1, 1400, 400);
  trace.event("python_function", "model.py(3): forward", 1, 1400, 400);
  trace.event("gpu_user_annotation", "ProfilerStep#3", 7, 1000, 5000);
  trace.raw(R"({"ph": "M", "name": "process_name", "pid": "Spans", "tid": 0, "args": {"name": "x"}})");
  const RecordedTrace read_trace = read(trace.json());
  ASSERT_EQ(read_trace.calls.size(), 1u);
  EXPECT_EQ(read_trace.calls[0].begin, 1500);
  EXPECT_EQ(read_trace.calls[0].end, 1750);
  EXPECT_EQ(read_trace.text(read_trace.calls[0].name), "aten::relu");
  ShapeHash shapes;
  shapes.add(std::vector<std::int64_t>{2, 3});
  EXPECT_EQ(read_trace.calls[0].shapes, shapes.value());
  ASSERT_EQ(read_trace.work.size(), 1u);
  EXPECT_EQ(read_trace.work[0].duration, 77u);
  ASSERT_EQ(read_trace.launches.size(), 1u);
  EXPECT_EQ(read_trace.launches[0].correlation, read_trace.work[0].correlation);
  EXPECT_EQ(read_trace.launches[0].thread, read_trace.calls[0].thread);
  ASSERT_EQ(read_trace.steps.size(), 1u);
  ASSERT_EQ(read_trace.modules.size(), 1u);
  EXPECT_EQ(read_trace.text(read_trace.modules[0].name), "ReLU");
  EXPECT_EQ(read_trace.events, 8u);
}

TEST(KinetoReader, ReadsTheFixture) {
  const RecordedTrace trace = read_kineto_trace(OPSCOPE_TEST_FILES "/cuda_trace.json");
  EXPECT_EQ(trace.device_name, "NVIDIA H200");
  EXPECT_EQ(trace.memory_bytes, 150109880320u);
  EXPECT_EQ(trace.runtime, "CUDA 12.8");
  EXPECT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.work.size(), 16u);
  EXPECT_EQ(trace.launches.size(), 14u);
}

TEST(KinetoReader, CompressedIsTheSame) {
  const std::string text = read_file(OPSCOPE_TEST_FILES "/cuda_trace.json");
  const TemporaryFile file(".json.gz");
  write_file(file.path(), compressed(text));
  const RecordedTrace trace = read_kineto_trace(file.path());
  EXPECT_EQ(trace.calls.size(), read(text).calls.size());
  EXPECT_EQ(trace.events, read(text).events);
  const std::string whole = compressed(text);
  write_file(file.path(), whole.substr(0, whole.size() / 2));
  EXPECT_THROW(read_kineto_trace(file.path()), Error);
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 0x55;
  write_file(file.path(), damaged);
  EXPECT_THROW(read_kineto_trace(file.path()), Error);
}

TEST(KinetoReader, TimesAreExact) {
  EXPECT_EQ(parse_microseconds("3926140590155.608"), 3926140590155608);
  EXPECT_EQ(parse_microseconds("1790857026000000.123"), 1790857026000000123);  // more than a double holds
  EXPECT_EQ(parse_microseconds("12"), 12000);
  EXPECT_EQ(parse_microseconds("12.5 "), 12500);
  EXPECT_EQ(parse_microseconds("-0.25"), -250);
  EXPECT_EQ(parse_microseconds("1e3"), 1000000);
  EXPECT_EQ(parse_microseconds("0.1234567"), 123);
  for (const char* token :
       {"", "-", ".", ".5.5", "99999999999999999999", "1e300", "nan", "\"5\"", "true", "1.2.3"})
    EXPECT_EQ(parse_microseconds(token), std::nullopt) << token;
}

TEST(KinetoReader, OlderForms) {
  SmallTrace trace;
  trace.event("Operator", "aten::relu", 1, 100, 50, R"("External id": "7", "Input dims": "[[2]]")");
  trace.event("Kernel", "k", 7, 200, 10, R"("External id": "7", "correlation": "33")");
  const RecordedTrace old = read(trace.json());
  ASSERT_EQ(old.calls.size(), 1u);
  EXPECT_EQ(old.calls[0].external, 7u);
  EXPECT_EQ(old.work[0].correlation, 33u);
  EXPECT_EQ(read("[" + trace.events() + "]").calls.size(), 1u);
  EXPECT_EQ(read("[" + trace.events() + ",").calls.size(), 1u);  // a writer that was stopped
  EXPECT_EQ(read("\xef\xbb\xbf" + trace.json()).calls.size(), 1u);
}

// Kineto writes what C++ prints, and that is not always JSON.
TEST(KinetoReader, OddNumbersInFieldsThatDoNotMatter) {
  SmallTrace trace;
  trace.call("aten::relu", 1, 2);
  trace.event("kernel", "k", 7, 5, 6,
              R"("est. achieved occupancy %": nan, "bandwidth": inf, "correlation": 3)");
  EXPECT_EQ(read(trace.json()).work[0].correlation, 3u);
}

TEST(KinetoReader, SaysWhatIsWrong) {
  SmallTrace good;
  good.call("aten::relu", 1500, 250);
  const std::string text = good.json();
  EXPECT_EQ(error_of(""), "the file is empty");
  EXPECT_EQ(error_of("  \n"), "the file is empty");
  EXPECT_EQ(error_of("PK\x03\x04"), "this is not JSON");
  EXPECT_EQ(error_of("{}"), "there are no \"traceEvents\" in it");
  EXPECT_EQ(error_of("{\"traceEvents\": []}"), "there are no \"traceEvents\" in it");
  EXPECT_EQ(error_of("{\"traceEvents\": 5}"), "\"traceEvents\" is not an array");
  EXPECT_EQ(error_of("{\"schema_version\": 1, \"capture\": {}}"), "there are no \"traceEvents\" in it");
  EXPECT_EQ(error_of(text + "x"), "there is more behind the end of the JSON");
  for (std::size_t size = 1; size < text.size(); ++size)
    EXPECT_EQ(error_of(text.substr(0, size)), "the file ends in the middle") << size;
  const auto with = [](std::string_view event) { return fmt::format("{{\"traceEvents\": [{}]}}", event); };
  EXPECT_EQ(error_of(with("5")), "event 0: expected an object");
  EXPECT_EQ(error_of(with(R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": "soon"})")),
            "event 0: \"ts\" is no time in microseconds");
  EXPECT_EQ(error_of(with(R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1e400})")),
            "event 0: \"ts\" is no time in microseconds");
  EXPECT_EQ(error_of(with(R"({"ph": "X", "cat": "cpu_op", "name": "a"})")),
            "event 0: no \"ts\", the time when it began");
  EXPECT_EQ(error_of(with(R"({"ph": "X", "cat": "cpu_op", "name": 5, "ts": 1})")),
            "event 0: the name is not a string");
  EXPECT_EQ(error_of(with("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"\xff\", \"ts\": 1}")),
            "event 0: the text is not UTF-8");
  EXPECT_EQ(error_of(with(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "args": {}})")),
            "no calls of ops among its events");
}

TEST(KinetoReader, FilesThatAreNone) {
  EXPECT_THROW(read_kineto_trace("no/such/file.json"), Error);
  EXPECT_THROW(read_kineto_trace(testing::TempDir()), Error);
}

TEST(KinetoReader, KeepsNoMoreThanItMay) {
  SmallTrace trace;
  for (int i = 0; i < 100; ++i) trace.call("aten::relu", 10 * i, 5);
  const RecordedTrace kept = read(trace.json(), {.most_records = 30});
  EXPECT_EQ(kept.calls.size(), 30u);
  EXPECT_EQ(kept.left_out, 70u);
  EXPECT_EQ(kept.events, 100u);
}

// Items of all sizes across the ends of the buffer, from a source that gives a few bytes at a time.
TEST(JsonItems, SplitsWhereverTheBufferEnds) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{1} << 20}) {
    std::string text = "{\"a\": [1, {\"b\": \"]}\\\"\"}], \"items\": [";
    std::vector<std::string> items;
    for (std::size_t i = 0; i < 60; ++i) {
      items.push_back(
          fmt::format("{{\"i\": {}, \"text\": \"{}\\\\\"}}", i, std::string(i * i * 37 % 20000, '}')));
      text += (i > 0 ? ", " : "") + items.back();
    }
    text += "], \"z\": -1.5e3 }";
    const ByteSource all = bytes_source(text);
    JsonItems reader([&](char* buffer, std::size_t size) { return all(buffer, std::min(size, bytes)); },
                     "items", "x", 1 << 20);
    JsonItem item;
    ASSERT_TRUE(reader.next(item));
    EXPECT_EQ(item.key, "a");
    EXPECT_EQ(item.text, "[1, {\"b\": \"]}\\\"\"}]");
    for (const std::string& expected : items) {
      ASSERT_TRUE(reader.next(item));
      EXPECT_EQ(item.key, "");
      ASSERT_EQ(item.text, expected);
    }
    ASSERT_TRUE(reader.next(item));
    EXPECT_EQ(item.text, "-1.5e3");
    EXPECT_FALSE(reader.next(item));
  }
}

TEST(JsonItems, AnItemThatNeverEnds) {
  std::size_t given = 0;
  JsonItems reader(
      [&](char* buffer, std::size_t size) {
        std::fill_n(buffer, size, given == 0 ? '[' : ' ');
        given += size;
        return size;
      },
      "items", "x", 1 << 20);
  JsonItem item;
  EXPECT_THROW(reader.next(item), Error);
  EXPECT_LT(given, std::size_t{4} << 20);
}

}  // namespace
}  // namespace opscope
