// Any bytes as the measurement of a small model's capture -> every stage that knows times.
#include "analyse/measured_models.h"
#include "fuzz/use_graph.h"
#include "report/times/times.h"

namespace {

using namespace opscope;

// The capture before and behind its measurement, which is its last field.
std::string with_measurement(std::string_view measurement) {
  static const std::string capture = [] {
    std::string text = write_json(test::training_step());
    return text.substr(0, text.rfind('}'));
  }();
  return capture + ",\"measurement\":" + std::string(measurement) + "}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = with_measurement(text_of(data, size));
  const auto graph = accepted([&] { return read_capture(text, "fuzz"); });
  if (!graph || graph->measurement.empty()) return 0;
  require(write_json(*graph) == write_json(read_capture(write_json(*graph), "rewritten")));
  const Profile profile = make_profile(*graph);
  const auto trace =
      accepted([&] { return chrome_trace(profile); });  // refused where no op says when it began
  require(!trace || !trace->empty());
  for (const Format format : all_formats()) require(!measure_report(profile, format).empty());
  return 0;
}
