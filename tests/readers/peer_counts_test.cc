// What Python says of other tools, and what is none.
#include <gtest/gtest.h>

#include "base/error.h"
#include "readers/results/profile_reader.h"

namespace opscope::test {
namespace {

TEST(PeerCounts, Reads) {
  const auto run = read_peer_counts(
      R"({"weight_bytes": 12, "peers": [
        {"tool": "fvcore", "version": "0.1.5", "unit": "macs", "total": 7, "params": 3, "inclusive": true,
         "free_ops": ["aten::relu"], "not_called": ["head"], "notes": ["adapted"], "seconds": 0.5,
         "counts": [{"module": "fc", "op": "linear", "count": 7},
                    {"module": "", "op": "aten::add", "count": null, "calls": 2}]},
        {"tool": "thop", "unit": "macs", "error": {"what": "not installed", "hint": "pip install thop"}}]})",
      "test");
  ASSERT_EQ(run.answers.size(), 2U);
  const PeerAnswer& fvcore = run.answers[0];
  EXPECT_EQ(run.weight_bytes, 12U);
  EXPECT_EQ(fvcore.total, 7U);
  EXPECT_EQ(fvcore.params, 3U);
  EXPECT_TRUE(fvcore.inclusive);
  EXPECT_EQ(fvcore.counts[0].count, 7U);
  EXPECT_FALSE(fvcore.counts[1].count);
  EXPECT_EQ(fvcore.counts[1].calls, 2U);
  EXPECT_EQ(fvcore.free_ops.front(), "aten::relu");
  EXPECT_EQ(run.answers[1].error, "not installed");
  EXPECT_EQ(read_peer_counts(R"({"error": {"what": "no model", "hint": "list"}})", "test").error, "no model");
}

TEST(PeerCounts, Refuses) {
  for (const char* const text :
       {"", "[", "{}", R"({"peers": 3})", R"({"peers": [{}]})",
        R"({"peers": [{"tool": "t", "unit": "pounds", "total": 1, "counts": []}]})",
        R"({"peers": [{"tool": "t", "unit": "macs", "total": -1, "counts": []}]})",
        R"({"peers": [{"tool": "t", "unit": "macs", "total": 1}]})",
        R"({"peers": [{"tool": "t", "unit": "macs", "total": 1, "counts": [{"op": "x"}]}]})"})
    EXPECT_THROW(read_peer_counts(text, "test"), Error) << text;
}

}  // namespace
}  // namespace opscope::test
