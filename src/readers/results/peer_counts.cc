// One pass over the DOM: the answers are small, and keys may come in any order.
#include "readers/results/peer_counts.h"

#include "readers/json/dom.h"

namespace opscope {
namespace {

using dom::element;

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  PeerRun run(element document) const {
    PeerRun run;
    if (const auto error = dom::field(document, "error")) {
      run.error = need_text(*error, "what");
      run.hint = text_or(*error, "hint");
      return run;
    }
    if (const auto bytes = dom::field(document, "weight_bytes")) run.weight_bytes = natural(*bytes);
    for (const element item : dom::list_field(document, "peers", where_)) run.answers.push_back(answer(item));
    return run;
  }

 private:
  PeerAnswer answer(element item) const {
    PeerAnswer answer;
    answer.tool = need_text(item, "tool");
    answer.version = text_or(item, "version");
    answer.unit = unit(need_text(item, "unit"));
    answer.notes = texts(item, "notes");
    if (const auto error = dom::field(item, "error")) {
      answer.error = need_text(*error, "what");
      answer.hint = text_or(*error, "hint");
      return answer;
    }
    answer.total = natural(dom::need(item, "total", where_));
    if (const auto params = dom::field(item, "params")) answer.params = natural(*params);
    if (const auto inclusive = dom::field(item, "inclusive")) answer.inclusive = truth(*inclusive);
    if (const auto samples = dom::field(item, "divided_by")) answer.divided_by = natural(*samples);
    if (const auto seconds = dom::field(item, "seconds")) answer.seconds = real(*seconds);
    answer.free_ops = texts(item, "free_ops");
    answer.not_called = texts(item, "not_called");
    for (const element row : dom::list_field(item, "counts", where_)) answer.counts.push_back(count(row));
    return answer;
  }

  PeerCount count(element row) const {
    PeerCount count{need_text(row, "module"), need_text(row, "op"), {}, 1};
    if (const auto number = dom::field(row, "count")) count.count = natural(*number);
    if (const auto calls = dom::field(row, "calls")) count.calls = natural(*calls);
    return count;
  }

  PeerUnit unit(std::string_view word) const {
    if (word == "flops") return PeerUnit::kFlops;
    if (word == "macs") return PeerUnit::kMacs;
    fail("expected flops or macs as a unit, not '" + std::string(word) + "'");
  }

  std::string need_text(element item, std::string_view key) const {
    std::string_view text;
    if (dom::need(item, key, where_).get(text)) fail("expected a string at '" + std::string(key) + "'");
    return std::string(text);
  }
  std::string text_or(element item, std::string_view key) const {
    return dom::field(item, key) ? need_text(item, key) : std::string();
  }
  std::vector<std::string> texts(element item, std::string_view key) const {
    std::vector<std::string> found;
    const auto list = dom::field(item, key);
    if (!list) return found;
    for (const element each : dom::list(*list, where_)) {
      std::string_view text;
      if (each.get(text)) fail("expected strings at '" + std::string(key) + "'");
      found.emplace_back(text);
    }
    return found;
  }
  std::uint64_t natural(element item) const {
    std::uint64_t number = 0;
    if (item.get(number)) fail("expected a whole number, not negative");
    return number;
  }
  bool truth(element item) const {
    bool found = false;
    if (item.get(found)) fail("expected true or false");
    return found;
  }
  double real(element item) const {
    double number = 0;
    if (item.get(number)) fail("expected a number");
    return number;
  }
  [[noreturn]] void fail(const std::string& what) const { throw Error(what, where_); }

  const std::string& where_;
};

}  // namespace

PeerRun read_peer_counts(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  element document;
  if (parser.parse(json.data(), json.size()).get(document)) throw Error("not JSON", where);
  return Reader(where).run(document);
}

}  // namespace opscope
