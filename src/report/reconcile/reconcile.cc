// The numbers side by side, what could not be run and why, and the causes where they are asked for.
#include "report/reconcile/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace opscope {
namespace {

std::string magnitude(std::int64_t number, std::string (*text)(Count, Zero)) {
  const std::string digits = text(Count{std::llabs(number)}, Zero::kDigit);
  return number == 0 ? digits : (number < 0 ? "-" : "+") + digits;
}

std::string accuracy_text(const Reconciliation& model, const PeerComparison& peer) {
  if (!peer.has_accuracy()) return "-";
  const double accuracy = peer.accuracy(model.flops);
  if (peer.difference == 0) return "100%";
  if (accuracy < 0) return fmt::format("{:.0f}%", accuracy);
  return accuracy > 99.99 ? ">99.99%" : fmt::format("{:.2f}%", accuracy);
}

std::string params_text(const PeerComparison& peer) {
  return peer.answer.params ? format_params(Count{*peer.answer.params}) : "-";
}

class Totals {
 public:
  Totals(std::span<const Reconciliation> models, double tolerance) : models_(models), tolerance_(tolerance) {}

  Section section() {
    Section section{"Totals",
                    {{{"Model", Align::kLeft, 12, false, 20},
                      {"Tool", Align::kLeft},
                      {"Our FLOPs"},
                      {"Theirs"},
                      {"Difference"},
                      {"Accuracy"},
                      {"", Align::kLeft},
                      {"Own number", Align::kRight, 0, true},
                      {"Params", Align::kRight, 0, true},
                      {"Theirs", Align::kRight, 0, true}},
                     {}},
                    {}};
    for (const Reconciliation& model : models_) add(section, model);
    section.remarks = remarks();
    return section;
  }

 private:
  void add(Section& section, const Reconciliation& model) {
    if (!model.error.empty())
      section.table.rows.push_back(
          {{model.model, Style::kStrong}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {}, {"-"}, {"-"}, {"-"}});
    bool first = true;
    for (const PeerComparison& peer : model.peers) {
      section.table.rows.push_back(row(model, peer, first));
      first = false;
    }
  }

  std::vector<Cell> row(const Reconciliation& model, const PeerComparison& peer, bool first) const {
    const bool ran = peer.ran();
    const bool flagged = is_flagged(model, peer, tolerance_);
    return {
        {first ? model.model : "", Style::kStrong},
        {peer.answer.tool},
        {first ? format_count(model.flops) : ""},
        {ran ? format_count(Count{peer.flops}) : "-"},
        {ran ? signed_count_text(peer.difference) : "-"},
        {accuracy_text(model, peer), flagged ? Style::kWarning : Style::kPlain},
        {flagged ? "!" : "", Style::kWarning},
        {ran ? format_count(Count{peer.answer.total}) + " " + std::string(unit_text(peer.answer.unit)) : "-"},
        {first ? format_params(model.params) : ""},
        {ran ? params_text(peer) : "-", peer.params_cause.empty() ? Style::kPlain : Style::kWarning}};
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> lines{
        "FLOPs: two for each multiply-accumulate, one for other arithmetic, on both sides. Accuracy: 100 (1 "
        "- "
        "|ours - theirs| / theirs)."};
    bool any = false;
    for (const Reconciliation& model : models_) {
      if (!model.error.empty()) lines.push_back(said(model.model, model.error, model.hint));
      for (const PeerComparison& peer : model.peers) {
        any |= is_flagged(model, peer, tolerance_);
        if (!peer.ran())
          lines.push_back(said(model.model + ", " + peer.answer.tool, peer.answer.error, peer.answer.hint));
        if (!peer.params_cause.empty())
          lines.push_back(fmt::format("{}, {}: {}", model.model, peer.answer.tool, peer.params_cause));
      }
    }
    if (any) lines.insert(lines.begin() + 1, fmt::format("! differs by more than {:g}%.", tolerance_ * 100));
    return lines;
  }

  static std::string said(const std::string& about, const std::string& error, const std::string& hint) {
    return about + ": " + error + (hint.empty() ? "" : " (" + hint + ")");
  }

  std::span<const Reconciliation> models_;
  double tolerance_;
};

void add_once(std::string& names, const std::string& name) {
  if ((", " + names + ",").find(", " + name + ",") != std::string::npos) return;
  names += (names.empty() ? "" : ", ") + name;
}

// What the tools had to be given, each way once: "fvcore, thop on gpt2, t5-small: called through a wrapper".
std::vector<std::string> notes_of(std::span<const Reconciliation> models) {
  struct Said {
    std::string note, tools, on;
  };
  std::vector<Said> said;
  for (const Reconciliation& model : models)
    for (const PeerComparison& peer : model.peers)
      for (const std::string& note : peer.answer.notes) {
        auto found = std::ranges::find(said, note, &Said::note);
        if (found == said.end()) found = said.insert(said.end(), {note, "", ""});
        add_once(found->tools, peer.answer.tool);
        add_once(found->on, model.model);
      }
  std::vector<std::string> lines;
  for (const Said& each : said) lines.push_back(fmt::format("{} on {}: {}", each.tools, each.on, each.note));
  return lines;
}

std::string closing(std::span<const Reconciliation> models) {
  std::size_t compared = 0, ran = 0, apart = 0;
  for (const Reconciliation& model : models) {
    ran += model.error.empty();
    for (const PeerComparison& peer : model.peers) {
      compared += peer.ran();
      apart += peer.ran() && peer.difference != 0;
    }
  }
  if (compared == 0) return "Nothing to compare: no tool ran.";
  if (apart == 0) return fmt::format("{}: no difference.", plural(compared, "comparison"));
  if (compared == 1) return "The causes add up to the difference, to the last FLOP.";
  return fmt::format("{} of {} differ, on {}; the causes of each add up to its difference, to the last FLOP.",
                     apart, plural(compared, "comparison"), plural(ran, "model"));
}

}  // namespace

std::string signed_exact(std::int64_t number) {
  const std::string digits = format_exact(Count{std::llabs(number)});
  return number == 0 ? digits : (number < 0 ? "-" : "+") + digits;
}

std::string signed_count_text(std::int64_t number) { return magnitude(number, format_count); }

std::string_view unit_text(PeerUnit unit) { return unit == PeerUnit::kFlops ? "FLOPs" : "MACs"; }

bool is_flagged(const Reconciliation& model, const PeerComparison& peer, double tolerance) {
  return peer.ran() && peer.off(model.flops) > tolerance;
}

Document reconcile_document(std::span<const Reconciliation> models, const ReconcileOptions& reconcile,
                            const TextOptions& options) {
  Document document;
  document.header.push_back(
      {models.size() == 1 ? models.front().model : plural(models.size(), "model"), Style::kStrong});
  if (models.size() == 1 && !models.front().source.empty())
    document.header.push_back({models.front().source, Style::kQuiet});
  if (models.size() == 1 && !models.front().inputs.empty())
    document.header.push_back({models.front().inputs});
  document.header.push_back(
      {"opscope " OPSCOPE_VERSION " beside other tools, each run for real", Style::kQuiet});
  document.notes = options.notes;
  for (std::string& note : notes_of(models)) document.notes.push_back(std::move(note));
  document.sections.push_back(Totals(models, reconcile.tolerance).section());
  if (!reconcile.why) return document;
  for (const Reconciliation& model : models)
    for (const PeerComparison& peer : model.peers)
      if (peer.ran()) document.sections.push_back(why_section(model, peer, options));
  document.sections.back().remarks.push_back(closing(models));
  return document;
}

std::string to_format(std::span<const Reconciliation> models, const ReconcileOptions& reconcile,
                      Format format, const TextOptions& options) {
  return in_format(
      format, options, [&] { return reconcile_json(models, reconcile); },
      [&] { return reconcile_csv(models, reconcile); },
      [&] { return reconcile_document(models, reconcile, options); });
}

}  // namespace opscope
