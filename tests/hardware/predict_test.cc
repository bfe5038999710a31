// Predicted time: calibrations as files, what measured ops say of others, and whole runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analyse/profile/profile.h"
#include "analyse/small_models.h"
#include "base/error.h"
#include "graph/random_graph.h"
#include "graph/signature.h"
#include "hardware/predict/fit.h"
#include "hardware/predict/known_calibrations.h"
#include "hardware/predict/predictor.h"
#include "hardware/predict/simulate.h"
#include "hardware/predict/targets.h"

namespace opscope {
namespace {

constexpr std::string_view kHead = R"(calibration = "1"
device = "h200"
device_name = "a GPU"
kind = "gpu"
made = "measured"
features = "2"

[facts]
date = "2026-01-02"

[host]
op = "2 us"
dispatch = "10 us"
view = "1 us"
launch = "5 us"

[gaps]
pointwise = "1 us"

[measured]
ops = [
)";

constexpr double kRate = 4e12, kStart = 2e-6;  // bytes a second and seconds of the device of these tests

std::string relu_text(std::int64_t size, std::string_view device = "cuda") {
  return "aten::relu(self: float32[" + std::to_string(size) + "]) on " + std::string(device) +
         " -> float32[" + std::to_string(size) + "]";
}

MeasuredCall measured(std::string text, double seconds) {
  MeasuredCall call{
      .text = std::move(text), .seconds = seconds, .deviation = seconds / 100, .host_seconds = 4e-6};
  add_features(std::span(&call, 1));
  return call;
}

double relu_seconds(std::int64_t size) { return 8.0 * static_cast<double>(size) / kRate + kStart; }

// relus of sizes that double, between 2^10 and 2^27.
std::vector<MeasuredCall> relus() {
  std::vector<MeasuredCall> calls;
  for (std::int64_t size = 1024; size <= (std::int64_t{1} << 27); size *= 2)
    calls.push_back(measured(relu_text(size), relu_seconds(size)));
  return calls;
}

CalibrationPointer calibrated(std::vector<MeasuredCall> calls = relus()) {
  Calibration calibration = read_calibration(std::string(kHead) + "]\n", "head.toml");
  fit_families(calibration, calls);
  return std::make_shared<const Calibration>(
      read_calibration(write_calibration(calibration, calls), "made.toml"));
}

PredictedOp told_of(const std::string& text, const CalibrationPointer& calibration = calibrated()) {
  const Graph graph = graph_of_calls(std::span(&text, 1));
  const auto costs = estimate(graph, Convention::kOpscope);
  OpCall call(graph);
  call.reset(graph.ops[0]);
  return predictor_for(find_device("h200"), calibration)
      ->predict(call, graph.ops[0], costs[0], product_dtype(graph, graph.ops[0]), Float32::kTorch);
}

std::string refusal(const std::string& text) {
  try {
    read_calibration(text, "c.toml");
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.where();
  }
  return "";
}

TEST(Calibration, IsWrittenAsItIsRead) {
  Calibration calibration = read_calibration(std::string(kHead) + "]\n", "head.toml");
  const std::vector<MeasuredCall> calls = relus();
  fit_families(calibration, calls);
  const std::string text = write_calibration(calibration, calls);
  const Calibration again = read_calibration(text, "again.toml");
  EXPECT_EQ(write_calibration(again, again.calls(OpFamily::kPointwise)), text);
  EXPECT_EQ(again.measured_calls(), calls.size());
  EXPECT_EQ(again.fact("date"), "2026-01-02");
  EXPECT_DOUBLE_EQ(again.host.launch, 5e-6);
  EXPECT_DOUBLE_EQ(again.gaps[static_cast<std::size_t>(OpFamily::kPointwise)], 1e-6);
  const MeasuredCall read = again.calls(OpFamily::kPointwise)[3];
  EXPECT_EQ(read.text, calls[3].text);
  EXPECT_EQ(read.features.op, calls[3].features.op);
  EXPECT_EQ(read.features.size_count, calls[3].features.size_count);
}

TEST(Calibration, SaysWhatIsWrongWithAFile) {
  const std::string head(kHead);
  EXPECT_EQ(refusal(head), "the calibration is cut off: the list of measured ops has no end | c.toml");
  EXPECT_EQ(refusal("kind = \"gpu\"\n"), "not a calibration | c.toml");
  std::string text = head;
  text.replace(text.find("\"1\""), 3, "\"7\"");
  EXPECT_EQ(refusal(text + "]\n"), "a calibration of format 7; this opscope reads format 1 | c.toml:1");
  EXPECT_EQ(refusal(head + "  \"what is this\",\n]\n"),
            "not a measured op: '  \"what is this\",' | c.toml:22");
  text = head;
  text.replace(text.find("launch"), 6, "lunch_");
  EXPECT_EQ(refusal(text + "]\n"), "no such key in a calibration: 'host.lunch_' | c.toml:15");
  text = head;
  text.replace(text.find("features = \"2\""), 14, "features = \"0\"");
  const std::vector<MeasuredCall> calls = relus();
  const std::string line = write_calibration(*calibrated(), calls);
  EXPECT_NE(refusal(text + line.substr(line.find("  \"pointwise"))).find("features are of another version"),
            std::string::npos);
}

// Calls and trees are read when an op of their family is predicted.
TEST(Calibration, SaysWhatIsWrongWithItsCallsAndTrees) {
  const std::vector<MeasuredCall> calls = relus();
  const std::string text = write_calibration(*calibrated(), calls);
  const auto told = [&](std::string_view what, std::string_view instead) {
    std::string wrong = text;
    wrong.replace(wrong.find(what), what.size(), instead);
    try {
      told_of(relu_text(1 << 20), std::make_shared<const Calibration>(read_calibration(wrong, "c.toml")));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(told("aten::relu", "aten::relu"), "");
  EXPECT_EQ(told("  \"pointwise float32 ", "  \"pointwise float32 no "),
            "not a measured op: 'pointwise float32 no 2.002e-06 2e-08 4e-06 | plain 0 0 1024 '");
  EXPECT_EQ(told("\n[measured]", "\n[forests]\npointwise = \"A 1|0.5|AB-AA\"\n\n[measured]"),
            "the trees of a calibration cannot be read");
}

TEST(FittedRates, AreThoseOfTheDevice) {
  const CalibrationPointer calibration = calibrated();
  const FamilyRates* rates = calibration->rates(OpFamily::kPointwise, DType::kFloat32);
  ASSERT_NE(rates, nullptr);
  EXPECT_NEAR(rates->byte_rate, kRate, 0.02 * kRate);
  EXPECT_NEAR(rates->seconds, kStart, 0.02 * kStart);
  EXPECT_LT(rates->error_median, 0.02);
}

TEST(Predictor, TakesAMeasuredCallAsItIs) {
  const PredictedOp told = told_of(relu_text(1 << 20));
  EXPECT_EQ(told.source, TimeSource::kMeasured);
  EXPECT_NEAR(told.seconds, relu_seconds(1 << 20), 1e-3 * told.seconds);
  EXPECT_DOUBLE_EQ(told.host_seconds, 4e-6);
  EXPECT_EQ(told_of(relu_text(1 << 20, "cpu")).source, TimeSource::kMeasured);
}

// bfloat16 launches more kernels here.
TEST(Predictor, KnowsTheHostByGroupsOfCalls) {
  std::vector<MeasuredCall> calls = relus();
  for (std::int64_t size = 1024; size <= 1 << 16; size *= 2) {
    const std::string shape = "bfloat16[" + std::to_string(size) + "]";
    calls.push_back(measured("aten::relu(self: " + shape + ") on cuda -> " + shape, 3e-6));
    calls.back().host_seconds = 11e-6;
  }
  const CalibrationPointer calibration = calibrated(calls);
  EXPECT_NEAR(told_of(relu_text(5000), calibration).host_seconds, 4e-6, 1e-9);
  EXPECT_NEAR(told_of("aten::relu(self: bfloat16[5000]) on cuda -> bfloat16[5000]", calibration).host_seconds,
              11e-6, 1e-9);
}

// One op of a dtype is no reason to take its time for all others of that dtype.
TEST(FittedRates, OfADtypeWithOneOpAreNearTheOthers) {
  std::vector<MeasuredCall> calls = relus();
  const std::string shape = "int64[67108864]";
  calls.push_back(measured("aten::relu(self: " + shape + ") on cuda -> " + shape, 16.0 * 67108864 / kRate));
  const PredictedOp small =
      told_of("aten::relu(self: int64[1000]) on cuda -> int64[1000]", calibrated(calls));
  EXPECT_LT(small.seconds, 20e-6);
}

TEST(Features, NoFusedAttentionReadsAMaskWithGaps) {
  const auto group = [](const std::string& strides) {
    const std::string head = "bfloat16[2,4,64,32]";
    const std::string text =
        "aten::scaled_dot_product_attention(query: " + head + ", key: " + head + ", value: " + head +
        ", attn_mask: bfloat16[1,4,64,64]" + strides +
        ", dropout_p: 0.0, is_causal: false, scale: none, enable_gqa: false) on cuda -> " + head;
    return told_of(text).group;
  };
  EXPECT_EQ(group(""), OpGroup::kMasked);
  EXPECT_EQ(group(" strides [16384,1,256,4]"), OpGroup::kUnfused);
}

TEST(Predictor, TellsACallBetweenMeasuredOnes) {
  const PredictedOp told = told_of(relu_text(3 << 20));
  EXPECT_EQ(told.source, TimeSource::kInterpolated);
  EXPECT_NEAR(told.seconds, relu_seconds(3 << 20), 0.05 * told.seconds);
}

TEST(Predictor, IsLessSureFarFromWhatWasMeasured) {
  const std::string far =
      "aten::add.Tensor(self: float32[64,4096] strides [1,64], other: float16[64,4096], alpha: 1) on cuda "
      "-> float32[64,4096]";
  std::vector<MeasuredCall> noisy = relus();
  for (std::size_t i = 0; i < noisy.size(); ++i) noisy[i].seconds *= i % 2 == 0 ? 1.4 : 0.7;
  const CalibrationPointer calibration = calibrated(noisy);
  EXPECT_GT(told_of(far, calibration).deviation, told_of(noisy[5].text, calibration).deviation);
}

TEST(Predictor, SaysTheRooflineWhereNothingElseIsKnown) {
  const std::string product =
      "aten::mm(self: float32[64,64], mat2: float32[64,64]) on cuda -> float32[64,64]";
  const PredictedOp told = told_of(product);
  EXPECT_EQ(told.source, TimeSource::kRoofline);
  EXPECT_GT(told.seconds, 0);
  EXPECT_EQ(told_of("mine::op(self: float32[64]) on cuda -> float32[64]").source, TimeSource::kUnknown);
}

// No such product of experts was large enough to say what they reach.
TEST(Predictor, IsNotFasterThanProductsAre) {
  const CalibrationPointer known = known_calibration("h200");
  ASSERT_NE(known, nullptr);
  const auto experts = [&](int rows) {
    return told_of(
               fmt::format(
                   "aten::_grouped_mm(self: bfloat16[{0},4096], mat2: weight bfloat16[8,4096,28672] strides "
                   "[117440512,1,4096], offs: int32[8], bias: none, out_dtype: none) on cuda -> "
                   "bfloat16[{0},28672]",
                   rows),
               known)
        .seconds;
  };
  constexpr double kPeak = 990e12, kBandwidth = 4.8e12;
  EXPECT_GE(experts(65536), 2.0 * 65536 * 4096 * 28672 / kPeak);
  EXPECT_GT(experts(64), 0.9 * 2 * 8 * 4096 * 28672.0 / kBandwidth);
}

TEST(Predictor, BorrowsFromARelatedDevice) {
  const PredictorPointer l4 = predictor_for(find_device("l4"));
  EXPECT_TRUE(l4->is_borrowed());
  EXPECT_GT(l4->run_spread(), predictor_for(find_device("h200"))->run_spread());
}

ProfileOptions on(std::string_view device, RunMode mode, double host_speed = 1) {
  ProfileOptions options;
  options.hardware = find_device(device);
  options.mode = mode, options.host_speed = host_speed;
  return options;
}

TEST(PredictedRun, IsTheSumOfItsOps) {
  const Graph graph = test::ResNet18::make(8);
  for (const RunMode mode : {RunMode::kEager, RunMode::kGraph, RunMode::kCompiled}) {
    const Profile profile = make_profile(graph, on("h200", mode));
    double sum = 0, limits = 0;
    for (const OpShare& op : profile.predicted.ops) sum += op.seconds;
    for (const double part : profile.predicted.by_limit) limits += part;
    EXPECT_NEAR(sum, profile.predicted.seconds, 1e-9) << name(mode);
    EXPECT_NEAR(profile.totals.predicted_seconds(), profile.predicted.seconds, 1e-9) << name(mode);
    EXPECT_NEAR(limits, profile.predicted.seconds, 1e-4 * sum + 2e-5) << name(mode);
    const TimeRange range =
        range_of(profile.predicted.seconds, profile.totals.predicted_spread(), profile.predicted.run_spread);
    EXPECT_LT(range.low, profile.predicted.seconds);
    EXPECT_GT(range.high, profile.predicted.seconds);
  }
}

// A device of nothing but constants: what its host takes, and rates of families in float32.
struct LabFamily {
  std::string_view name, flop_rate, byte_rate, seconds;
};
CalibrationPointer lab(const std::string& host, std::initializer_list<LabFamily> families) {
  std::string text =
      fmt::format("calibration = \"{}\"\ndevice = \"lab\"\nkind = \"gpu\"\nmade = \"measured\"\n[host]\n{}\n",
                  kCalibrationVersion, host);
  for (const LabFamily& each : families)
    text += fmt::format(
        "[families.{}.float32]\nflop_rate = \"{}\"\nbyte_rate = \"{}\"\nseconds = \"{}\"\nspread = \"0.1\"\n"
        "error_median = \"0\"\nerror_p90 = \"0\"\npoints = 10\n",
        each.name, each.flop_rate, each.byte_rate, each.seconds);
  return std::make_shared<const Calibration>(read_calibration(text + "\n[measured]\nops = []\n", "lab.toml"));
}

// 1,000 x 1,000 x 1,000 products at 10 TFLOP/s, 4 MB read twice and written once at 1 TB/s, 3 us each.
TEST(PredictedRun, IsWhatItsConstantsSay) {
  const auto calibration =
      lab("op = \"2 us\"\ndispatch = \"8 us\"\nlaunch = \"5 us\"",
          {{"matmul", "10 TFLOP/s", "1 TB/s", "3 us"}, {"pointwise", "0", "1 TB/s", "3 us"}});
  const std::vector<std::string> calls{
      "aten::mm(self: float32[1000,1000], mat2: float32[1000,1000]) on cuda -> float32[1000,1000]",
      "aten::relu(self: float32[1000,1000]) on cuda -> float32[1000,1000]"};
  const Graph graph = graph_of_calls(calls);
  ProfileOptions options;
  options.hardware = device_of(*calibration), options.calibration = calibration,
  options.mode = RunMode::kGraph;
  const Profile device_alone = make_profile(graph, options);
  EXPECT_EQ(device_alone.costs[0].predicted_time, Count{203'000'000});  // picoseconds: 2e9 / 10e12 s and 3 us
  EXPECT_EQ(device_alone.costs[1].predicted_time, Count{11'000'000});   // 8e6 / 1e12 s and 3 us
  EXPECT_EQ(device_alone.totals.predicted_time, Count{214'000'000});
  EXPECT_NEAR(device_alone.totals.predicted_spread(), std::hypot(20.3e-6, 1.1e-6), 1e-8);
  // The host calls the first at 10 us, and the device starts 5 us later; the second is called in the
  // meantime.
  options.mode = RunMode::kEager;
  const Profile eager = make_profile(graph, options);
  EXPECT_EQ(eager.totals.predicted_time, Count{229'000'000});
  EXPECT_EQ(eager.totals.predicted_wait, Count{15'000'000});
  options.host_speed = 2;
  EXPECT_EQ(make_profile(graph, options).totals.predicted_time, Count{224'000'000});
}

// A step of one op each way and one of the optimizer, on a device that takes 1 us for each.
Graph small_step(std::string_view act) {
  GraphBuilder b("net", "Net");
  const TensorSpec spec(ints{1 << 20});
  const auto x = b.input(spec, "x");
  const auto weight = b.parameter("weight", spec);
  b.parameter("frozen", spec, false);
  const auto y = b.op(act, {{"self", x}}, {spec});
  const auto view = b.op("aten::view", {{"self", y}, {"size", ints{1 << 20}}}, {TensorSpec(spec).view_of(y)});
  const auto slice = b.op("aten::slice.Tensor", {{"self", view}, {"dim", 0}}, {TensorSpec(spec).view_of(y)});
  const auto gradient = b.op("aten::mul.Tensor", {{"self", slice}, {"other", weight}}, {spec});
  const auto turned = b.op("aten::t", {{"self", gradient}}, {TensorSpec(spec).view_of(gradient)});
  b.op("aten::mul.Tensor", {{"self", turned}, {"other", 2}}, {spec});
  Graph graph = b.finish({y});
  graph.phases = {{"forward 2", 0}, {"backward 2", 3}, {"optimizer", 5}};
  return graph;
}

double host_seconds_of(const Graph& graph, const std::string& costs) {
  const auto calibration = lab(costs, {{"pointwise", "0", "0", "1 us"}, {"copy", "0", "0", "7 us"}});
  ProfileOptions options;
  options.hardware = device_of(*calibration), options.calibration = calibration;
  return make_profile(graph, options).predicted.host_seconds;
}

TEST(PredictedRun, HasAutogradAndTheOptimizerOnTheHost) {
  const Graph graph = small_step("aten::relu");
  const auto us = [&](const std::string& costs) { return host_seconds_of(graph, costs) * 1e6; };
  EXPECT_NEAR(us("op = \"2 us\""), 2 + 2, 1e-9);                           // relu, the optimizer's
  EXPECT_NEAR(us("op = \"2 us\"\nview = \"3 us\""), 2 + 3 + 3 + 2, 1e-9);  // both views
  EXPECT_NEAR(us("op = \"2 us\"\nview = \"3 us\"\nslice = \"1 us\""), 2 + 3 + 1 + 2, 1e-9);
  EXPECT_NEAR(us("op = \"2 us\"\ngradient = \"1 us\""), 3 + 1 + 1 + 2, 1e-9);  // of the three forward
  EXPECT_NEAR(us("op = \"2 us\"\nbackward_op = \"5 us\""), 2 + 5 + 2, 1e-9);
  EXPECT_NEAR(us("op = \"2 us\"\nbackward_view = \"7 us\""), 2 + 7 + 2, 1e-9);
  EXPECT_NEAR(us("op = \"2 us\"\nparameter = \"30 us\""), 2 + 2 + 30, 1e-9);  // one is trained
}

// silu's backward pass reads its input; relu's, its result.
TEST(PredictedRun, CopiesWhatItTrainsInPlace) {
  const auto time_of = [](std::string_view act) {
    const Graph graph = small_step(act);
    return make_profile(graph, on("h200", RunMode::kGraph)).costs[0].predicted_time;
  };
  EXPECT_GT(time_of("aten::silu_").value(), time_of("aten::silu").value() * 3 / 2);
  EXPECT_LT(time_of("aten::relu_").value(), time_of("aten::relu").value() * 3 / 2);
}

// Of the device; an optimizer's counter of steps is on the host.
TEST(PredictedRun, WaitsWhereAValueIsRead) {
  const auto seconds = [](std::string_view phase) {
    GraphBuilder b("net", "Net");
    const TensorSpec spec(ints{1 << 28}), one(ints{});
    const auto x = b.input(spec, "x");
    const auto y = b.op("aten::relu", {{"self", x}}, {spec});
    b.op("aten::item", {{"self", x}}, {});
    const auto z = b.op("aten::relu", {{"self", x}}, {one});
    Graph graph = b.finish({y, z});
    graph.phases = {{std::string(phase), 0}};
    const Profile profile = make_profile(graph, on("h200", RunMode::kEager));
    return profile.predicted.ops[2].begin;
  };
  EXPECT_GT(seconds("forward"), seconds("optimizer"));
}

TEST(PredictedRun, HasAHostWhereTheDevicesOwnIsNotKnown) {
  const Graph graph = test::ResNet18::make(1);
  const Profile l4 = make_profile(graph, on("l4", RunMode::kEager));
  EXPECT_TRUE(l4.predicted.predictor->host_is_borrowed());
  EXPECT_GT(l4.predicted.host_seconds, 0);
  EXPECT_FALSE(make_profile(graph, on("h200", RunMode::kEager)).predicted.predictor->host_is_borrowed());
  bool said = false;
  for (const std::string& note : prediction_notes(l4.predicted))
    said |= note.find("of h200: --host") != note.npos;
  EXPECT_TRUE(said);
}

TEST(PredictedRun, WaitsForTheHostWhereOpsAreSmall) {
  const Graph small = test::ResNet18::make(1), large = test::ResNet18::make(256);
  const Profile waits = make_profile(small, on("h200", RunMode::kEager));
  const Profile works = make_profile(large, on("h200", RunMode::kEager));
  EXPECT_GT(waits.predicted.of(RunLimit::kHost), 0.3 * waits.predicted.seconds);
  EXPECT_LT(works.predicted.of(RunLimit::kHost), 0.1 * works.predicted.seconds);
  EXPECT_LT(make_profile(small, on("h200", RunMode::kGraph)).predicted.seconds, waits.predicted.seconds);
  EXPECT_LT(make_profile(small, on("h200", RunMode::kEager, 2)).predicted.seconds, waits.predicted.seconds);
}

TEST(PredictedRun, OfAnyGraphOnAnyDeviceIsARun) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const Graph graph = test::RandomGraph(seed).make(60);
    for (const DevicePointer& device : known_devices()) {
      const Profile profile = make_profile(graph, on(device->id, RunMode::kEager));
      EXPECT_GE(profile.predicted.seconds, 0) << device->id;
      std::uint64_t unknown = 0;
      for (const OpCost& cost : profile.costs) unknown += !cost.predicted_known;
      EXPECT_EQ(unknown, profile.predicted.unknown_ops);
    }
  }
}

}  // namespace
}  // namespace opscope
