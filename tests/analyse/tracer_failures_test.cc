#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "analyse/trace/failures.h"
#include "analyse/tracer_failure_cases.h"

namespace opscope {
namespace {

constexpr std::string_view kTracers[] = {"fx", "dynamo", "dynamo_export", "export", "onnx", "mlir"};

void expect_one_line(const TracerFailure& failure, std::string_view what) {
  EXPECT_FALSE(failure.reason.empty()) << what;
  EXPECT_FALSE(failure.hint.empty()) << what;
  EXPECT_LE(failure.reason.size(), kReasonBytes) << failure.reason;
  EXPECT_LE(failure.hint.size(), kReasonBytes) << failure.hint;
  for (const auto& text : {failure.reason, failure.hint}) {
    EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char letter) {
      return (letter >= 0 && letter < ' ') || letter == '\x7f';
    })) << text;
    EXPECT_EQ(text.find("0x"), std::string::npos) << text;
  }
}

TEST(TracerFailures, AreSaidInPlainWords) {
  for (const auto& item : kTracerFailureCases) {
    const auto failure = explain_tracer_failure(item.tracer, item.exception_type, item.message);
    EXPECT_EQ(failure.reason, item.reason) << item.message;
    EXPECT_TRUE(std::string_view(failure.hint).starts_with(item.hint)) << failure.hint;
    expect_one_line(failure, item.message);
  }
}

TEST(TracerFailures, HintsNameAnotherTracerThanTheOneThatFailed) {
  for (const auto tracer : kTracers) {
    for (int cure = 0; cure <= static_cast<int>(Cure::kMemory); ++cure) {
      const std::string hint(hint_for(static_cast<Cure>(cure), tracer));
      const auto flag = "--tracer " + std::string(tracer);
      const auto at = hint.find(flag);
      const bool itself =
          at != std::string::npos && (at + flag.size() == hint.size() || hint[at + flag.size()] != '_');
      EXPECT_FALSE(itself) << tracer << ": " << hint;
      EXPECT_LE(hint.size(), kReasonBytes) << hint;
      EXPECT_FALSE(hint.empty());
    }
  }
}

TEST(TracerFailures, EveryRowFitsOneLineAndIsFoundByItsOwnText) {
  for (const auto& row : failure_rows()) {
    const auto tracer = row.tracer.empty() ? std::string_view("export") : row.tracer;
    const auto begin = row.reason.find('{'), bar = row.reason.find('|'), end = row.reason.find('}');
    const bool has_place = begin != std::string_view::npos;
    auto message = std::string(row.find).append(" ");
    if (has_place)
      message.append(row.reason.substr(begin + 1, bar - begin - 1))
          .append("THIS")
          .append(row.reason.substr(bar + 1, end - bar - 1));
    const auto failure = explain_tracer_failure(tracer, "RuntimeError", message);
    expect_one_line(failure, row.find);
    EXPECT_LE(row.reason.size() - (has_place ? end + 1 - begin : 0), 110U) << row.reason;
    const auto head = row.reason.substr(0, begin);
    EXPECT_TRUE(std::string_view(failure.reason).starts_with(head)) << row.find << ": " << failure.reason;
  }
}

TEST(TracerFailures, NameTheUsersLine) {
  EXPECT_EQ(user_line("no frame at all"), "");
  EXPECT_EQ(user_line("  File \"/x/model.py\", line 12, in forward\n"), "model.py:12");
  // the innermost line of the user's, not PyTorch's below it
  EXPECT_EQ(
      user_line("File \"/x/model.py\", line 12, in forward\n"
                "File \"/x/block.py\", line 3, in forward\n"
                "File \"/e/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 134, in forward"),
      "block.py:3");
  // of a library's model where there is none of the user's
  EXPECT_EQ(
      user_line("File \"/e/lib/python3.11/site-packages/torchvision/models/detection/rpn.py\", line 7, in f\n"
                "File \"/e/lib/python3.11/site-packages/torch/_tensor.py\", line 5, in g"),
      "rpn.py:7");
  EXPECT_EQ(user_line("File \"/x/train.py\", line 2, in <module>\n"
                      "File \"/e/lib/python3.11/site-packages/timm/layers/pool.py\", line 7, in f"),
            "train.py:2");
  // opscope's own, installed or not, is never the user's
  EXPECT_EQ(user_line("File \"/src/opscope/tracers/fx.py\", line 20, in trace\n"
                      "File \"/e/lib/python3.11/site-packages/timm/layers/pool.py\", line 7, in f"),
            "pool.py:7");
  EXPECT_EQ(user_line("File \"C:\\nets\\model.py\", line 9, in forward"), "model.py:9");
  EXPECT_EQ(user_line("File \"/usr/lib/python3.11/inspect.py\", line 3127, in _bind"), "");
  EXPECT_EQ(user_line("File \"<eval_with_key>.1\", line 5, in forward"), "");
  EXPECT_EQ(user_line("File \"/x/model.py\", line"), "");
}

TEST(TracerFailures, UnknownTextsGiveTheFirstLineThatSaysSomething) {
  const auto reason = [](std::string_view type, std::string_view message) {
    return explain_tracer_failure("export", type, message).reason;
  };
  EXPECT_EQ(reason("torch._dynamo.exc.Unsupported", "\n\n  Something new\n  Explanation: long"),
            "Something new");
  EXPECT_EQ(reason("RuntimeError", ""), "RuntimeError");
  EXPECT_EQ(reason("", ""), "PyTorch says nothing");
  EXPECT_EQ(reason("KeyError", "'mask'"), "the model raises KeyError: 'mask'");
  EXPECT_EQ(reason("RuntimeError", "odd object <x.Y object at 0x7f49701a0790> here"),
            "odd object <x.Y object> here");
  EXPECT_EQ(reason("RuntimeError",
                   "Failed to export.\n- Next\n## Exception summary\n\n<class 'ValueError'>: too wide"),
            "the model raises ValueError: too wide");
  EXPECT_EQ(reason("RuntimeError", "Failed to build the thing"), "Failed to build the thing");
  EXPECT_EQ(reason("RuntimeError", std::string(400, 'x')), std::string(kReasonBytes - 3, 'x') + "...");
  EXPECT_EQ(
      reason("RuntimeError", "odd\nTraceback (most recent call last):\n File \"/x/model.py\", line 5, in f"),
      "odd, at model.py:5");
}

// What the quoted code says does not count as PyTorch's word.
TEST(TracerFailures, TheModelsOwnTextIsNotTakenForPyTorchs) {
  const auto failure = explain_tracer_failure("dynamo", "Unsupported",
                                              "Something new\n\nfrom user code:\n"
                                              "   File \"/x/model.py\", line 12, in forward\n"
                                              "    raise ValueError('maximum recursion depth exceeded')");
  EXPECT_EQ(failure.reason, "Something new, at model.py:12");
}

// Real texts cut, joined and sprinkled with odd bytes still give one line each.
TEST(TracerFailures, HoldOnAnyText) {
  std::mt19937 random(7);
  const auto pick = [&]() -> const TracerFailureCase& {
    return kTracerFailureCases[random() % std::size(kTracerFailureCases)];
  };
  for (int round = 0; round < 3000; ++round) {
    std::string message(pick().message);
    const auto more = pick().message;
    message.append(more.substr(random() % more.size()));
    message.resize(random() % (message.size() + 1));
    for (auto count = random() % 4; count > 0 && !message.empty(); --count) {
      message[random() % message.size()] = "\x1b\xc3\n\"'`{}\0"[random() % 9];
    }
    const auto& item = pick();
    expect_one_line(explain_tracer_failure(item.tracer, item.exception_type, message), message);
  }
}

}  // namespace
}  // namespace opscope
