// The host's own time in the measured report and in JSON: lines between ops, waits for the device, transfers,
// and why a device was idle.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kLinesShown = 5;
constexpr double kLeastShown = 0.01;  // of the wall time

std::string op_name_at(const Profile& profile, OpId op) {
  return std::string(short_op_name(profile.graph->op_name(profile.graph->ops[op])));
}

// "between linear and relu", "before linear", "after relu"; "" in a model without ops.
std::string place_text(const Profile& profile, const OutsideRow& row) {
  if (row.after == kNone && row.before == kNone) return "";
  if (row.after == kNone) return "before " + op_name_at(profile, row.before);
  if (row.before == kNone) return "after " + op_name_at(profile, row.after);
  return "between " + op_name_at(profile, row.after) + " and " + op_name_at(profile, row.before);
}

std::string line_text(std::string_view source) {
  return source.empty() ? "(no line of the model)" : std::string(source_text(source));
}

std::string module_text(const Profile& profile, ModuleId module) {
  const std::string_view path = profile.graph->path(profile.graph->modules[module]);
  return path.empty() ? model_name(*profile.graph) : std::string(path);
}

// "blocks.0.mlp and 11 more"
std::string modules_text(const Profile& profile, const OutsideRow& row) {
  return module_text(profile, row.module) +
         (row.modules > 1 ? fmt::format(" and {} more", row.modules - 1) : "");
}

Columns<HostOps> host_ops_columns(const Profile& profile, const std::string& head) {
  using Row = const HostOps&;
  return {{words(head, 12), [](Row row) { return std::string(short_op_name(row.op)); }},
          {words("Line", 8), [](Row row) { return line_text(row.source); }},
          {words("Module", 8), [&](Row row) { return module_text(profile, row.module); }},
          {number("Calls"), [](Row row) { return row.ops.size(); }}};
}

Columns<HostOps> time_column() {
  return {{number("Host time").strong(), [](const HostOps& row) { return format_time(row.seconds); }}};
}

Section waits_section(const Profile& profile, const HostTime& host) {
  Columns<HostOps> columns = host_ops_columns(profile, "Synchronisations");
  columns += time_column();
  Section section{"Synchronisations", table_of(columns, host.waits)};
  if (!profile.graph->measurement.on_device)
    section.remarks.push_back(
        "Python reads a result of these ops: on a GPU the host waits there for the device");
  return section;
}

Section transfers_section(const Profile& profile, const HostTime& host) {
  using Row = const HostOps&;
  Columns<HostOps> columns = host_ops_columns(profile, "Transfers");
  columns += {{words("From", 4), &HostOps::from},
              {words("To", 4), &HostOps::to},
              {number("Bytes"), [](Row row) { return format_bytes(row.bytes); }}};
  columns += time_column();
  return {"Transfers", table_of(columns, host.transfers)};
}

}  // namespace

std::string outside_text(const Profile& profile, const OutsideRow& row) {
  std::string text = fmt::format("{} {} {} outside any op", modules_text(profile, row),
                                 row.modules > 1 ? "spend" : "spends", format_time(row.seconds));
  if (!row.source.empty()) text += fmt::format(" at {}", source_text(row.source));
  if (row.count > 1) return text + fmt::format(", {} times {}", row.count, format_time(row.each()));
  const std::string place = place_text(profile, row);
  return place.empty() ? text : text + ", " + place;
}

std::string device_gaps_text(const DeviceGaps& gaps) {
  std::string text =
      fmt::format("host-bound {}: the device is idle, the next op comes late", format_time(gaps.host_late));
  if (gaps.after_wait > 0)
    text += fmt::format(", {} of it after a synchronisation", format_time(gaps.after_wait));
  if (gaps.waiting > 0)
    text += fmt::format("; waiting {}: the host waits for the device in a synchronisation",
                        format_time(gaps.waiting));
  if (gaps.at_end > 0)
    text += fmt::format("; at the end of the run the host waits {} for the device", format_time(gaps.at_end));
  return text;
}

std::vector<Section> host_sections(const Profile& profile, const HostTime& host, const TextOptions& options) {
  std::vector<Section> sections;
  std::size_t shown = options.verbose ? host.lines.size() : std::min(kLinesShown, host.lines.size());
  if (!options.verbose)
    while (shown > 0 && host.lines[shown - 1].seconds < kLeastShown * host.wall) --shown;
  using Row = const OutsideRow&;
  const Columns<OutsideRow> columns{
      {words("Outside ops", 14), [](Row row) { return line_text(row.source); }},
      {words("Module", 8), [&](Row row) { return modules_text(profile, row); }},
      {words("Where", 8).or_not().quiet(),
       [&](Row row) { return row.waits ? "waits for the device" : place_text(profile, row); }},
      {number("Times"), &OutsideRow::count},
      {number("Each"), [](Row row) { return format_time(row.each()); }},
      {number("Wall").strong(), [](Row row) { return format_time(row.seconds); }},
      {number("% Wall"), [&](Row row) { return format_percent(row.seconds, host.wall); }}};
  if (shown > 0) sections.push_back({"Outside ops", table_of(columns, std::span(host.lines).first(shown))});
  if (!host.waits.empty()) sections.push_back(waits_section(profile, host));
  if (!host.transfers.empty()) sections.push_back(transfers_section(profile, host));
  return sections;
}

void write_host_time(JsonWriter& json, const Profile& profile, const HostTime& host) {
  if (!has_wall(profile) && host.waits.empty() && host.transfers.empty() && !host.device) return;
  const auto op = [&](std::string_view key, OpId id) {
    json.field(key, id == kNone ? std::nullopt : std::optional(id));
  };
  const auto ops = [&](const HostOps& row) {
    json.fields("op", row.op, "source", row.source, "module",
                profile.graph->path(profile.graph->modules[row.module]));
    json.list("ops", row.ops);
    json.field("seconds", row.seconds);
  };
  json.object("host_time", [&] {
    if (has_wall(profile)) {
      json.fields("wall_seconds", host.wall, "outside_seconds", host.outside, "usual_gap_seconds",
                  host.usual_gap);
      json.objects("lines", host.lines, [&](const OutsideRow& row) {
        json.fields("source", row.source, "module", profile.graph->path(profile.graph->modules[row.module]));
        json.field("modules", row.modules);
        op("after", row.after), op("before", row.before);
        json.fields("count", row.count, "seconds", row.seconds, "waits", row.waits);
      });
    }
    json.objects("synchronisations", host.waits, ops);
    json.objects("transfers", host.transfers, [&](const HostOps& row) {
      ops(row);
      json.fields("from", row.from, "to", row.to, "bytes", row.bytes);
    });
    if (!host.device) return;
    json.inline_object("device", [&] {
      json.fields("busy_seconds", host.device->busy, "host_bound_seconds", host.device->host_late);
      json.fields("after_synchronisation_seconds", host.device->after_wait, "waiting_seconds",
                  host.device->waiting);
      json.field("waiting_at_end_seconds", host.device->at_end);
    });
  });
}

}  // namespace opscope
