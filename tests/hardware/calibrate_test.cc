// The lists of what is timed, what an interrupted calibration leaves, and what a finished one says.
#include "report/calibrate/calibrate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "graph/signature.h"
#include "hardware/calibrate/call_list.h"
#include "hardware/calibrate/finish.h"
#include "hardware/calibrate/machine.h"
#include "hardware/predict/known_calibrations.h"

namespace opscope {
namespace {

const std::vector<std::string> kCalls{
    "aten::relu(self: float32[64]) on cpu -> float32[64]",
    "aten::relu(self: float32[8,16]) on cpu -> float32[8,16]",
    "aten::add.Tensor(self: float32[8,64], other: float32[8,64] strides [1,8], alpha: 1) on cpu -> "
    "float32[8,64]",
    "aten::layer_norm(input: bfloat16[2,8], normalized_shape: [8], weight: weight bfloat16[8], bias: none, "
    "eps: 1e-05, "
    "cudnn_enable: true) on cpu -> bfloat16[2,8]",
    "aten::cat(tensors: [float32[2,3], float32[2,5]], dim: -1) on cpu -> float32[2,8]",
    "aten::zeros(size: [4,4], dtype: float32, layout: none, device: 'cpu', pin_memory: false) on cpu -> "
    "float32[4,4]",
};

class CalibrateFiles : public testing::Test {
 protected:
  CalibrateFiles() { std::filesystem::create_directories(folder_); }
  ~CalibrateFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const CalibrationIdentity identity_{{"device", "a CPU"}, {"torch", "2.13.0"}, {"number of threads", "2"}};

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("opscope-calibrate-" + std::to_string(::getpid()));
};

template <class Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CallList, IsReadAsItIsWritten) {
  const std::string text = write_call_list(kCalls);
  EXPECT_EQ(read_call_list(text, "list"), kCalls);
  // A form that differs in sizes alone is there once.
  EXPECT_EQ(write_call_list(std::span(kCalls).first(2)),
            "forms\naten::relu(self: float32[#]) on cpu -> float32[#]\ncalls\n0 64 64\n0 8,16 8,16\n");
}

TEST(CallList, SaysWhichLineIsWrong) {
  const std::string head = "forms\naten::relu(self: float32[#]) on cpu -> float32[#]\ncalls\n";
  EXPECT_EQ(refusal_of([&] { read_call_list(head + "1 64 64\n", "l"); }),
            "not a line of a list of calls: '1 64 64'");
  EXPECT_EQ(refusal_of([&] { read_call_list(head + "0 64\n", "l"); }),
            "not a line of a list of calls: '0 64'");
  EXPECT_EQ(refusal_of([&] { read_call_list(head + "0 64 64 64\n", "l"); }),
            "not a line of a list of calls: '0 64 64 64'");
  EXPECT_EQ(refusal_of([&] { read_call_list("{\"a\": 1}\n", "l"); }),
            "not a line of a list of calls: '{\"a\": 1}'");
}

TEST(CallList, ThoseOfOpscopeCanBeRead) {
  for (const std::string_view device : {"cpu", "cuda"}) {
    const std::vector<std::string> list = known_call_list(device);
    EXPECT_GT(list.size(), 1000u) << device;
    const Graph graph = graph_of_calls(list);
    ASSERT_EQ(graph.ops.size(), list.size());
    for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(call_text(graph, graph.ops[i]), list[i]);
  }
  for (const EmbeddedFile& file : embedded_call_lists()) EXPECT_LT(file.text.size(), 1'000'000u) << file.name;
}

TEST_F(CalibrateFiles, AJournalGoesOnWhereItStopped) {
  {
    CalibrationJournal journal(path("a.partial"), identity_);
    EXPECT_FALSE(journal.is_continued());
    journal.add_reference(1e-3, 0.5);
    journal.add({.call = 0, .seconds = 2e-6, .deviation = 1e-8, .host_seconds = 3e-6}, 0.25);
    journal.add({.call = 1, .refused = "torch refused it:\nno"}, 0.25);
  }
  std::ofstream(path("a.partial"), std::ios::app) << "timed 0.1 2 5e-";  // killed in the middle of a line
  CalibrationJournal journal(path("a.partial"), identity_);
  EXPECT_TRUE(journal.is_continued());
  ASSERT_EQ(journal.calls().size(), 2u);
  EXPECT_DOUBLE_EQ(journal.calls()[0].seconds, 2e-6);
  EXPECT_DOUBLE_EQ(journal.calls()[0].host_seconds, 3e-6);
  EXPECT_EQ(journal.calls()[1].refused, "torch refused it: no");
  EXPECT_EQ(journal.next(), 2u);
  EXPECT_DOUBLE_EQ(journal.spent(), 1.0);
  EXPECT_EQ(journal.references(), std::vector{1e-3});
  journal.add({.call = 2, .seconds = 5e-6}, 0.1);
  EXPECT_EQ(CalibrationJournal(path("a.partial"), identity_).calls().size(), 3u);
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(path("a.partial")));
}

TEST_F(CalibrateFiles, ACallThatEndsTheProcessTwiceIsLeftOut) {
  {
    CalibrationJournal journal(path("a.partial"), identity_);
    journal.begin(0);
    journal.add({.call = 0, .seconds = 2e-6}, 0.25);
    journal.begin(1);
  }
  // Once may have been an interruption.
  EXPECT_EQ(CalibrationJournal(path("a.partial"), identity_).next(), 1u);
  CalibrationJournal(path("a.partial"), identity_).begin(1);
  const CalibrationJournal journal(path("a.partial"), identity_);
  ASSERT_EQ(journal.calls().size(), 2u);
  EXPECT_EQ(journal.calls()[1].refused, "it ended the process");
  EXPECT_EQ(journal.next(), 2u);
}

TEST_F(CalibrateFiles, AJournalOfSomethingElseIsRefused) {
  { CalibrationJournal journal(path("a.partial"), identity_); }
  CalibrationIdentity other = identity_;
  other[1].second = "2.14.0";
  EXPECT_EQ(refusal_of([&] { CalibrationJournal(path("a.partial"), other); }),
            "the calibration that was interrupted here is of another torch: 2.13.0; now it is 2.14.0");
  other = identity_;
  other[2].second = "1";
  EXPECT_EQ(refusal_of([&] { CalibrationJournal(path("a.partial"), other); }),
            "the calibration that was interrupted here is of another number of threads: 2; now it is 1");
  write_file(path("b.partial"), "hello");
  EXPECT_EQ(refusal_of([&] { CalibrationJournal(path("b.partial"), identity_); }),
            "not an interrupted calibration of this opscope");
}

Calibration about() {
  Calibration calibration;
  calibration.device = "cpu", calibration.device_name = "a CPU", calibration.kind = "cpu",
  calibration.threads = 2;
  calibration.facts = {{"date", "2026-01-02"}, {"torch", "2.13.0"}};
  calibration.host.op = 2e-6;
  return calibration;
}

TEST_F(CalibrateFiles, WhatWasTimedBecomesACalibration) {
  std::vector<std::string> list;
  CalibrationJournal journal(path("a.partial"), identity_);
  for (std::int64_t size = 1024; size <= 1 << 22; size *= 2) {
    const std::string shape = "float32[" + std::to_string(size) + "]";
    journal.add({.call = list.size(), .seconds = 1e-6 + static_cast<double>(size) * 1e-10}, 0.01);
    list.push_back("aten::relu(self: " + shape + ") on cpu -> " + shape);
  }
  journal.add({.call = list.size(), .refused = "no"}, 0.01);
  list.push_back(kCalls[1]);
  for (const double seconds : {1.0, 1.01, 0.99, 1.0, 1.01}) journal.add_reference(seconds * 1e-3, 0.01);
  const Calibration made = read_calibration(finished_calibration(about(), list, journal), "made.toml");
  EXPECT_EQ(made.measured_calls(), list.size() - 1);
  EXPECT_EQ(made.fact("torch"), "2.13.0");
  EXPECT_EQ(made.fact("calls").substr(0, 8), "13 of 14");
  EXPECT_TRUE(made.fact("steadiness").starts_with("an op that was timed throughout varied by 2"));
  const std::string text = to_format(made, Format::kText, {});
  EXPECT_NE(text.find("pointwise"), std::string::npos);
  EXPECT_NE(text.find("2.13.0"), std::string::npos);
  EXPECT_NE(to_format(made, Format::kJson, {}).find("\"measured_ops\": 13"), std::string::npos);

  for (const double seconds : {1.3, 1.4, 1.5, 1.3}) journal.add_reference(seconds * 1e-3, 0.01);
  const Calibration wider = read_calibration(finished_calibration(about(), list, journal), "made.toml");
  EXPECT_TRUE(wider.fact("steadiness").starts_with("not steady"));
  EXPECT_GT(wider.likenesses.front().noise, made.likenesses.front().noise);
  EXPECT_GT(wider.families.front().spread, made.families.front().spread);
}

TEST_F(CalibrateFiles, AnOpThatWasNotTimedTakesTheHostAsLongAsMostDo) {
  CalibrationJournal journal(path("a.partial"), identity_);
  for (std::uint32_t call = 0; call < 4; ++call)
    journal.add({.call = call, .seconds = 1e-6, .host_seconds = 3e-6 + 1e-6 * call}, 0.01);
  const Calibration made = read_calibration(finished_calibration(about(), kCalls, journal), "made.toml");
  ASSERT_EQ(made.host_ops.size(), 3);  // relu, add, layer_norm
  EXPECT_DOUBLE_EQ(made.host.dispatch, 5e-6);
}

// Half as fast as the host of the GPU that opscope knows best.
TEST_F(CalibrateFiles, AGpusHostTakesAsMuchLongerInModelsAsItsOwnCallsTake) {
  const HostCosts& known = known_calibration("h200")->host;
  CalibrationJournal journal(path("a.partial"), identity_);
  journal.add({.call = 0, .seconds = 1e-6, .host_seconds = 3e-6}, 0.01);
  Calibration gpu = about();
  gpu.kind = "gpu";
  gpu.host = {.op = known.pace, .module_call = known.pace / 2, .view = known.pace / 2, .launch = 4e-6};
  const Calibration made =
      read_calibration(finished_calibration(std::move(gpu), kCalls, journal), "made.toml");
  EXPECT_NEAR(made.host.op, 2 * known.op, 1e-9);
  EXPECT_NEAR(made.host.view, 2 * known.view, 1e-9);
  EXPECT_NEAR(made.host.parameter, 2 * known.parameter, 1e-9);
  EXPECT_DOUBLE_EQ(made.host.launch, 4e-6);
  EXPECT_DOUBLE_EQ(made.runs.host_spread, known_calibration("h200")->runs.host_spread);
  EXPECT_NE(made.host.source.find("times 2"), std::string::npos);
}

TEST_F(CalibrateFiles, NothingTimedIsNoCalibration) {
  CalibrationJournal journal(path("a.partial"), identity_);
  journal.add({.call = 0, .refused = "no"}, 0.01);
  EXPECT_EQ(refusal_of([&] { finished_calibration(about(), kCalls, journal); }), "no op could be timed");
}

TEST(Calibrate, KnowsWhetherADeviceIsHere) {
  const Machine machine{.processor = "a CPU", .gpus = {"NVIDIA L4"}, .knows_gpus = true};
  EXPECT_EQ(not_of(machine, "cpu", "a CPU"), "");
  EXPECT_EQ(not_of(machine, "cpu", "another"), "this is a CPU");
  EXPECT_EQ(not_of(machine, "gpu", "NVIDIA L4"), "");
  EXPECT_EQ(not_of(machine, "gpu", "NVIDIA H200"), "this machine has NVIDIA L4");
  EXPECT_EQ(not_of({.processor = "", .gpus = {}, .knows_gpus = true}, "gpu", "NVIDIA H200"),
            "this machine has no GPU");
  EXPECT_EQ(not_of({.processor = "", .gpus = {}, .knows_gpus = false}, "gpu", "AMD Instinct MI300X"), "");
  EXPECT_EQ(not_of({.processor = "", .gpus = {}, .knows_gpus = true}, "cpu", "any"), "");
}

}  // namespace
}  // namespace opscope
