// One pass over the DOM: the answers are small, and keys may come in any order.
#include "readers/results/peer_counts.h"

#include "readers/json/dom.h"

namespace opscope {
namespace {

using dom::Item;

PeerUnit unit_of(Item item) {
  if (item.text() == "flops") return PeerUnit::kFlops;
  if (item.text() == "macs") return PeerUnit::kMacs;
  item.source().fail("expected flops or macs as a unit, not '" + std::string(item.text()) + "'");
}

// True where it is an error.
bool read_error(Item item, std::string& error, std::string& hint) {
  const auto found = item.find("error");
  if (!found) return false;
  error = found->text("what");
  hint = found->text_or("hint");
  return true;
}

PeerAnswer answer_of(Item item) {
  PeerAnswer answer;
  answer.tool = item.text("tool");
  answer.version = item.text_or("version");
  answer.unit = unit_of(item.at("unit"));
  answer.notes = item.texts("notes");
  if (read_error(item, answer.error, answer.hint)) return answer;
  answer.total = item.at("total").natural();
  if (const auto params = item.find("params")) answer.params = params->natural();
  answer.inclusive = item.boolean_or("inclusive", answer.inclusive);
  answer.divided_by = item.natural_or("divided_by", answer.divided_by);
  answer.seconds = item.real_or("seconds", answer.seconds);
  answer.free_ops = item.texts("free_ops");
  answer.not_called = item.texts("not_called");
  for (const Item row : item.items("counts")) {
    answer.counts.push_back(
        {std::string(row.text("module")), std::string(row.text("op")), {}, row.natural_or("calls", 1)});
    if (const auto count = row.find("count")) answer.counts.back().count = count->natural();
  }
  return answer;
}

}  // namespace

PeerRun read_peer_counts(std::string_view json, const std::string& where) {
  const dom::Document document(json, {where}, "an answer of other tools");
  PeerRun run;
  if (read_error(document.root(), run.error, run.hint)) return run;
  if (const auto bytes = document.root().find("weight_bytes")) run.weight_bytes = bytes->natural();
  for (const Item item : document.root().items("peers")) run.answers.push_back(answer_of(item));
  return run;
}

}  // namespace opscope
