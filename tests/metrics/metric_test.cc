// The table of metrics, and that each row is known to every command.
#include "metrics/metric.h"

#include <gtest/gtest.h>

#include <set>

#include "analyse/check/budget.h"
#include "analyse/measured_models.h"
#include "analyse/plot/plot.h"
#include "analyse/swept_model.h"
#include "base/error.h"
#include "report/core/document.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

TEST(Metrics, EveryNameIsOneMetrics) {
  std::set<std::string> names;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(names.insert(std::string(metric.key)).second) << metric.key;
    for (std::string_view rest = metric.aliases; !rest.empty();) {
      const std::string alias(rest.substr(0, rest.find(',')));
      EXPECT_TRUE(names.insert(alias).second) << alias;
      EXPECT_EQ(find_metric(alias), &metric);
      rest.remove_prefix(std::min(alias.size() + 1, rest.size()));
    }
    EXPECT_EQ(find_metric(flag_name(metric)), &metric);
    EXPECT_FALSE(metric.title.empty() || metric.words.empty() || !metric.of) << metric.key;
  }
}

TEST(Metrics, OldSpellingsStand) {
  const std::pair<const char*, const char*> cases[] = {{"mem", "memory_bytes"},
                                                       {"memory", "memory_bytes"},
                                                       {"Memory-Bytes", "memory_bytes"},
                                                       {"ai", "arithmetic_intensity"},
                                                       {"intensity", "arithmetic_intensity"},
                                                       {"parameters", "params"},
                                                       {"peak", "peak_memory_bytes"},
                                                       {"time", "time_seconds"},
                                                       {"roofline", "roofline_seconds"},
                                                       {"saved", "saved_bytes"},
                                                       {"peak-memory", "peak_memory_bytes"}};
  for (const auto& [text, key] : cases) EXPECT_EQ(metric_named(text, "").key, key) << text;
}

TEST(Metrics, ErrorsNameWhatWouldDo) {
  const auto refusal = [](const char* text, Needs given) {
    try {
      metric_named(text, "--sort", given);
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return std::string();
  };
  EXPECT_EQ(refusal("flop", kLayerNeeds), "no metric called 'flop' | did you mean flops?");
  EXPECT_NE(refusal("speed", kLayerNeeds).find("memory-bytes (mem)"), std::string::npos);
  EXPECT_EQ(
      refusal("peak", kLayerNeeds).find("a part of a model has no peak memory of its own | choose params"),
      0u);
  EXPECT_EQ(refusal("peak", kModelNeeds), "");
}

TEST(Metrics, AreUnknownWhereNothingIsSaidOfThem) {
  const Metrics sums;
  for (const Metric& metric : metrics())
    EXPECT_EQ(amount_of(metric, {.sums = sums}).has_value(), metric.need == kNeedsNothing) << metric.key;
}

TEST(Metrics, TextReadsBack) {
  for (const Metric& metric : metrics()) {
    const std::string once = text(metric.unit, metric.unit == Unit::kShare ? 0.25 : 1250.0);
    EXPECT_EQ(text(metric, parse_amount(metric, once.find(',') == 1 ? "1250" : once, "")), once)
        << metric.key;
  }
}

class EveryMetric : public testing::Test {
 protected:
  EveryMetric() : graph(test::ResNet18::make()) {
    test::measure_by_rule(graph, true);
    ProfileOptions options;
    options.hardware = load_device("h100-sxm");
    profile = make_profile(graph, options);
  }
  Graph graph;
  Profile profile;
};

TEST_F(EveryMetric, OfLayersIsASortKeyAColumnAndAField) {
  const std::string csv = to_format(profile, Format::kCsv), json = to_json(profile);
  const std::string header = "," + csv.substr(0, csv.find('\n')) + ",";
  for (const Metric* metric : metrics_given(kLayerNeeds)) {
    TextOptions options;
    options.sort = &metric_named(metric->key, "--sort", kLayerNeeds);
    options.width = 200;
    const std::string text = to_format(profile, Format::kText, options);
    EXPECT_NE(text.find("layers by " + std::string(metric->words)), std::string::npos) << metric->key;
    EXPECT_NE(header.find("," + std::string(metric->key) + ","), std::string::npos) << metric->key;
    EXPECT_NE(json.find("\"" + std::string(metric->key) + "\":"), std::string::npos) << metric->key;
  }
}

TEST_F(EveryMetric, ThatAddsUpIsAPlot) {
  for (const Metric* metric : metrics_given(kLayerNeeds)) {
    if (!adds_up(metric->unit)) continue;
    const auto whole = amount_of(*metric, costs_of(profile, profile.totals, &profile.parameters));
    if (whole->count) {
      EXPECT_EQ(make_icicle(profile, {.metric = metric}).total, whole->count) << metric->key;
    }
    if (is_given(*metric, kTypeNeeds)) {
      EXPECT_FALSE(make_types_plot(profile, *metric, 5).rows.empty());
    }
  }
}

TEST_F(EveryMetric, OfAModelIsABudgetKey) {
  const Figures figures = figures_of(profile);
  for (const Metric* metric : metrics_given(kModelNeeds)) {
    const auto limits = parse_limits(std::string(metric->key) + "=0", LimitKind::kLeast, "--min");
    const CheckReport report = check_budget({.label = "", .figures = &figures}, limits, false);
    EXPECT_TRUE(report.kept()) << metric->key;
  }
}

TEST(EveryMetricOfASweep, IsAColumnAndAField) {
  test::Captures captures{[](const SweepPlace& place) { return test::attention_model(place[0], 16); }};
  Sweep sweep({numeric_axis("batch", {1, 2})}, {});
  sweep.run(captures.take());
  SweepReport report;
  report.result = &sweep.result();
  for (const Metric* metric : metrics_given(kSweepNeeds)) {
    report.metrics = sweep_metrics_from("--metric", metric->key);
    ASSERT_EQ(report.metrics, std::vector<const Metric*>{metric});
    const std::string text = to_format(report, Format::kText);
    EXPECT_NE(text.find(metric->title), std::string::npos) << metric->key;
    EXPECT_NE(to_format(report, Format::kCsv).find("," + std::string(metric->key) + ","), std::string::npos)
        << metric->key;
    EXPECT_FALSE(sweep_svg(report).empty());
  }
  EXPECT_EQ(sweep_metrics_from("--metric", "time").front()->key, "predicted_seconds");
  EXPECT_THROW(sweep_metrics_from("--metric", "flops-per-second"), Error);
}

}  // namespace
}  // namespace opscope
