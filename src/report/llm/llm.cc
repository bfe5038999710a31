// The page in every format: what the model holds, its steps, and each device's batches. CSV has a row for
// each batch on each device.
#include "report/llm/llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

std::string exact(std::int64_t number) { return format_exact(Count{number}); }
std::string exact(Count number) { return format_exact(number); }

std::string layers_text(std::uint32_t layers) {
  return std::to_string(layers) + (layers == 1 ? " layer" : " layers");
}

// "32 layers of 2 x 8 heads x 128"
std::string cache_form(const LlmCacheGroup& group) {
  std::string text = layers_text(group.layers) + " of " + group.form;
  if (group.window > 0) text += ", the last " + exact(group.window) + " tokens";
  return text;
}

std::string cache_detail(const LlmModel& model) {
  std::vector<std::string> parts;
  for (const LlmCacheGroup& group : model.cache)
    if (group.token_bytes) parts.push_back(cache_form(group));
  return join(parts, " + ") + ", " + model.cache_dtype;
}

// "12.88G active: 2 of 8 experts in 32 layers"
std::string active_text(const LlmModel& model) {
  if (!model.has_experts) return "all of them active";
  std::string text = format_params(model.active) + " active";
  if (model.active_without_embedding && *model.active_without_embedding != model.active)
    text += ", " + format_params(*model.active_without_embedding) + " without the embedding";
  return text;
}

Section model_section(const LlmAnswer& answer) {
  const LlmModel& model = answer.model;
  Facts facts("Model");
  facts.add("Parameters", {format_params(model.parameters.total), Style::kStrong}, active_text(model));
  for (const LlmModel::Experts& kind : model.experts)
    facts.add("  experts", fmt::format("{} of {}", kind.chosen, kind.experts),
              fmt::format("in {} layers", kind.layers));
  facts.add("Weights", {format_bytes(model.parameters.bytes), Style::kStrong}, model.weight_dtypes);
  if (const Count grows = model.cache_token_bytes())
    facts.add("KV cache per token", {exact(grows) + "B", Style::kStrong}, cache_detail(model));
  if (const Count fixed = model.cache_sequence_bytes()) {
    std::vector<std::string> parts;
    for (const LlmCacheGroup& group : model.cache)
      if (group.sequence_bytes) parts.push_back(cache_form(group));
    facts.add("  per sequence", format_bytes(fixed), join(parts, " + "));
  }
  if (model.positions > 0) facts.add("Positions", exact(model.positions));
  return facts;
}

// A step as captured, and what it is a step of.
using StepRow = const ServedStep&;
Columns<ServedStep> step_columns() {
  return {
      {words("Step"), [](StepRow step) { return Cell(name(step.phase), Style::kStrong); }},
      {number("Batch"), [](StepRow step) { return exact(step.batch); }},
      {number("Context"), [](StepRow step) { return exact(step.tokens); }},
      {number("MACs", Unit::kCount), [](StepRow step) { return step.served.work.macs; }},
      {number("FLOPs"),
       [](StepRow step) {
         return std::string(confidence_mark(step.served.confidence)) + format_count(step.served.flops);
       }},
      {number("Bytes", Unit::kBytes), [](StepRow step) { return step.served.bytes(); }},
      {number("weights", Unit::kBytes).quiet(),
       [](StepRow step) { return step.served.traffic.weight_bytes; }},
      {number("FLOPs/byte"), [](StepRow step) { return format_ratio(step.served.arithmetic_intensity()); }}};
}

Section steps_section(const LlmAnswer& answer) {
  std::vector<ServedStep> steps = answer.prefills;
  steps.insert(steps.end(), answer.decodes.begin(), answer.decodes.end());
  Section section = titled_section("Steps", table_of(step_columns(), steps));
  Confidence worst = Confidence::kExact;
  for (const ServedStep& step : steps) worst = std::max(worst, step.served.confidence);
  if (worst != Confidence::kExact) section.remarks.push_back(flops_legend(worst));
  const ServedStep& decode = answer.decodes.front();
  if (decode.is_absorbed)
    section.remarks.push_back(fmt::format(
        "Decode steps have latent attention in its absorbed form, as servers run it. Eager transformers "
        "expands the latent again at each step: {} FLOPs and {} at batch {}",
        format_count(decode.eager.flops), format_bytes(decode.eager.bytes()), exact(decode.batch)));
  return section;
}

std::string devices_text(const LlmDevice& device) {
  return device.devices == 1 ? device.device().name : exact(device.devices) + " x " + device.device().name;
}

std::string_view bound(const StepTime& time) {
  return !time.known ? "?" : time.is_compute_bound() ? "compute" : "memory";
}

std::string rate_text(double rate) {
  return rate >= 100 ? exact(std::llround(rate)) : fmt::format("{:.1f}", rate);
}

Cell timed_cell(const StepTime& time, const std::string& text) {
  return time.known ? Cell(text) : Cell("?", Style::kQuiet);
}

Cell time_cell(const StepTime& time) { return timed_cell(time, format_time(time.seconds)); }

std::string range_text(const StepTime& time) {
  return time.known ? format_time(time.range.low) + " to " + format_time(time.range.high) : "-";
}

Cell fit_cell(const LlmDevice& device, const LlmRow& row) {
  if (!device.memory) return {"?", Style::kQuiet};
  if (row.fits) return {"yes", Style::kGood};
  return {"needs " + exact(row.devices), Style::kWarning};
}

Columns<LlmRow> device_columns(const LlmDevice& device) {
  using Row = const LlmRow&;
  return {{words(""), [](Row row) { return Cell("batch " + exact(row.batch), Style::kStrong); }},
          {number("TTFT"), [](Row row) { return time_cell(row.predicted_prefill); }},
          {number("roofline").quiet(), [](Row row) { return time_cell(row.prefill); }},
          {number("TPOT"), [](Row row) { return time_cell(row.predicted_decode); }},
          {number("roofline").quiet(), [](Row row) { return time_cell(row.decode); }},
          {number("tok/s user").or_not(),
           [](Row row) { return timed_cell(row.predicted_decode, rate_text(row.user_rate())); }},
          {number("tok/s").strong(),
           [](Row row) { return timed_cell(row.predicted_decode, rate_text(row.rate())); }},
          {number("Memory"), [](Row row) { return format_bytes(row.need.total()); }},
          {number("Fits"), [&device](Row row) { return fit_cell(device, row); }},
          {number("Max context"), [&device](Row row) {
             if (!device.memory) return Cell("?", Style::kQuiet);
             return row.longest ? Cell(exact(*row.longest)) : Cell("none", Style::kWarning);
           }}};
}

std::string memory_line(const LlmAnswer& answer, const LlmDevice& device) {
  const std::string context = exact(answer.question.context()) + " tokens";
  if (!device.memory) return "How much memory the device has is not known";
  if (!device.largest) return "Not even one sequence of " + context + " fits";
  std::string text = "Largest batch at " + context + ": " + exact(*device.largest);
  if (device.largest_memory) text += " (" + split_text(*device.largest_memory, 3) + ")";
  return text;
}

// Where decode steps are on the roofline.
std::string ridge_line(const LlmAnswer& answer, const LlmDevice& device) {
  const ServedStep& last = answer.decodes.back();
  return fmt::format(
      "The ridge is at {} FLOPs per byte; a decode step of batch {} has {}, a prefill of batch {} {}",
      format_ratio(device.ridge), exact(last.batch), format_ratio(last.served.arithmetic_intensity()),
      exact(answer.prefills.front().batch),
      format_ratio(answer.prefills.front().served.arithmetic_intensity()));
}

// "p10 to p90: batch 1 TTFT 47.0 ms to 62.4 ms, TPOT 6.01 ms to 7.98 ms; batch 8 ..."
std::string ranges_line(const LlmDevice& device) {
  std::string text = "p10 to p90: ";
  for (const LlmRow& row : device.rows)
    text +=
        fmt::format("{}batch {} TTFT {}, TPOT {}", &row == &device.rows.front() ? "" : "; ", exact(row.batch),
                    range_text(row.predicted_prefill), range_text(row.predicted_decode));
  return text;
}

Section device_section(const LlmAnswer& answer, const LlmDevice& device) {
  Section section = titled_section(devices_text(device), table_of(device_columns(device), device.rows));
  section.remarks.push_back(ranges_line(device));
  section.remarks.push_back(memory_line(answer, device));
  section.remarks.push_back(ridge_line(answer, device));
  if (device.devices > 1)
    section.remarks.push_back(fmt::format(
        "Memory needs {} of them, at {} each. Times are of an even split of all work; communication is not "
        "in them",
        exact(device.devices), device.device().memory_size ? device.device().memory_size->text : "?"));
  return section;
}

std::string_view mode_text(RunMode mode) {
  return mode == RunMode::kGraph      ? "--mode graph: the device alone, as a server replays CUDA graphs"
         : mode == RunMode::kCompiled ? "--mode compiled: each fused subgraph is one kernel"
                                      : "--mode eager: op by op, with the host, as captured";
}

Section remarks_section(const LlmAnswer& answer) {
  Section section{""};
  if (answer.devices.empty()) {
    section.remarks.push_back("No device is named, so there are no times: --hardware h200, or h200,l4");
    return section;
  }
  section.remarks.push_back(fmt::format(
      "TTFT, the prompts of a batch together, and TPOT, a decode step at {} tokens (the middle of the "
      "answer), are predicted ({}), and tokens per second follow from them. "
      "roofline: the least that the peaks of the device allow",
      exact(answer.question.middle()), mode_text(answer.devices.front().options.mode)));
  for (const std::string& note : answer.time_notes) section.remarks.push_back("Predicted: " + note);
  section.remarks.push_back(
      fmt::format("Memory: weights, a cache of {} tokens for each sequence, the most of a decode step or of "
                  "one prompt, and "
                  "what allocator and driver keep",
                  exact(answer.question.context())));
  return section;
}

Section sizes_section(const LlmAnswer& answer) {
  Section section{"", {{number("Batch").strong(), number("Memory", Unit::kBytes), words("")}, {}}};
  for (std::size_t i = 0; i < answer.memory.size(); ++i)
    section.table.add(
        {exact(answer.question.batches[i]), answer.memory[i].total(), split_text(answer.memory[i], 3)});
  return section;
}

Document document_of(const LlmAnswer& answer, const TextOptions& options) {
  const LlmQuestion& question = answer.question;
  Document document{{{answer.model.name, Style::kStrong}}, options.notes};
  if (!answer.model.source.empty()) document.header.push_back(answer.model.source);
  document.header.push_back(
      fmt::format("prompt {}, generate {}", exact(question.prompt), exact(question.generate)));
  document.header.push_back({plural(answer.captures, "capture"), Style::kQuiet});
  for (const std::string& note : answer.notes) document.notes.push_back(note);
  document.add(model_section(answer));
  document.add(steps_section(answer));
  if (answer.devices.empty()) document.add(sizes_section(answer));
  for (const LlmDevice& device : answer.devices) document.add(device_section(answer, device));
  document.add(remarks_section(answer));
  return document;
}

void write_costs(JsonWriter& json, std::string_view key, const StepCosts& costs) {
  json.inline_object(key, [&] {
    json.fields("macs", costs.work.macs, "flops", costs.flops, "memory_bytes", costs.bytes(), "weight_bytes",
                costs.traffic.weight_bytes);
    json.field("arithmetic_intensity", costs.arithmetic_intensity());
    json.field("confidence", name(costs.confidence));
  });
}

void write_step(JsonWriter& json, const ServedStep& step) {
  json.fields("phase", name(step.phase), "batch", step.batch, "tokens", step.tokens);
  write_costs(json, "served", step.served);
  write_costs(json, "eager", step.eager);
  json.fields("absorbed_attention", step.is_absorbed, "cache_bytes", step.cache_bytes);
  json.fields("peak_memory_bytes", step.at_peak.total(), "eager_peak_memory_bytes", step.eager_peak.total());
}

// What is predicted, its interval, and the roofline; null where it is not known.
void write_time(JsonWriter& json, const std::string& key, const StepTime& predicted,
                const StepTime& roofline) {
  const auto cell = [](const StepTime& time, double value) { return time.known ? Cell(value) : Cell(); };
  write_field(json, key + "_seconds", cell(predicted, predicted.seconds));
  write_field(json, key + "_p10_seconds", cell(predicted, predicted.range.low));
  write_field(json, key + "_p90_seconds", cell(predicted, predicted.range.high));
  write_field(json, key + "_roofline_seconds", cell(roofline, roofline.seconds));
}

void write_row(JsonWriter& json, const LlmRow& row) {
  json.field("batch", row.batch);
  write_time(json, "first_token", row.predicted_prefill, row.prefill);
  json.field("prefill_bound", bound(row.prefill));
  write_time(json, "next_token", row.predicted_decode, row.decode);
  json.field("decode_bound", bound(row.decode));
  json.fields("tokens_per_second_per_user", row.user_rate(), "tokens_per_second", row.rate());
  json.fields("memory_bytes", row.need.total(), "allocator_bytes", row.need.allocator, "fixed_bytes",
              row.need.fixed);
  json.inline_object("split", [&] { write_fields(json, split_columns(), row.memory); });
  json.fields("fits", row.fits, "devices_needed", row.devices);
  write_field(json, "longest_context", row.longest ? Cell(*row.longest) : Cell());
  json.field("longest_context_limited_by", row.longest_is_positions ? "positions" : "memory");
}

void write_device(JsonWriter& json, const LlmDevice& device) {
  json.fields("hardware", device.device().id, "name", device.device().name, "devices", device.devices);
  json.fields("memory_bytes", device.memory, "ridge", device.ridge);
  write_field(json, "largest_batch", device.largest ? Cell(*device.largest) : Cell());
  json.objects("batches", device.rows, [&](const LlmRow& row) { write_row(json, row); });
}

void write_answer(JsonWriter& json, const LlmAnswer& answer) {
  const LlmModel& model = answer.model;
  begin_report(json);
  json.fields("model", model.name, "source", model.source);
  json.fields("prompt", answer.question.prompt, "generate", answer.question.generate);
  json.fields("parameters", model.parameters.total, "active_parameters", model.active);
  write_field(json, "active_without_embedding",
              model.active_without_embedding ? Cell(*model.active_without_embedding) : Cell());
  json.fields("weight_bytes", model.parameters.bytes, "weight_dtypes", model.weight_dtypes);
  json.fields("published_dtype", model.published_dtype, "positions", model.positions);
  json.object("kv_cache", [&] {
    json.fields("bytes_per_token", model.cache_token_bytes(), "bytes_per_sequence",
                model.cache_sequence_bytes());
    json.field("dtype", model.cache_dtype);
    json.objects("layers", model.cache, [&](const LlmCacheGroup& group) {
      json.fields("count", group.layers, "form", group.form, "token_bytes", group.token_bytes);
      json.fields("window", group.window, "sequence_bytes", group.sequence_bytes);
    });
  });
  json.fields("time_source", "predicted", "mode",
              answer.devices.empty() ? std::string_view() : name(answer.devices.front().options.mode));
  json.list("prediction_notes", answer.time_notes);
  std::vector<ServedStep> steps = answer.prefills;
  steps.insert(steps.end(), answer.decodes.begin(), answer.decodes.end());
  json.objects("steps", steps, [&](const ServedStep& step) { write_step(json, step); });
  json.objects("devices", answer.devices, [&](const LlmDevice& device) { write_device(json, device); });
  json.objects("points", answer.points, [&](const LlmPoint& point) {
    json.fields("batch", point.batch, "context", point.context, "tokens_per_second", point.rate);
    json.fields("tokens_per_second_per_user", point.user_rate, "memory_bytes", point.memory, "fits",
                point.fits);
  });
  json.list("notes", answer.notes);
  json.field("captures", answer.captures);
}

// A batch on a device; without devices on none.
struct FlatRow {
  const LlmDevice* device = nullptr;
  const LlmRow* row = nullptr;
  const ServedStep *prefill = nullptr, *decode = nullptr;
  Count memory{};
};

Table flat_table(const LlmAnswer& answer) {
  std::vector<FlatRow> rows;
  const auto add = [&](const LlmDevice* device, std::size_t i) {
    rows.push_back({device, device ? &device->rows[i] : nullptr, &answer.prefills[i], &answer.decodes[i],
                    device ? device->rows[i].need.total() : answer.memory[i].total()});
  };
  for (std::size_t i = 0; i < answer.question.batches.size() && answer.devices.empty(); ++i) add(nullptr, i);
  for (const LlmDevice& device : answer.devices)
    for (std::size_t i = 0; i < device.rows.size(); ++i) add(&device, i);
  using Row = const FlatRow&;
  const auto of_row = [](const auto& read) {
    return [read](Row flat) { return flat.row ? Cell(read(*flat.row)) : Cell(); };
  };
  Columns<FlatRow> columns{
      {"hardware", [](Row flat) { return flat.device ? Cell(flat.device->device().id) : Cell(); }},
      {"devices", [](Row flat) { return flat.device ? Cell(flat.device->devices) : Cell(); }},
      {"batch", [](Row flat) { return flat.decode->batch; }},
      {"prefill_flops", [](Row flat) { return flat.prefill->served.flops; }},
      {"prefill_bytes", [](Row flat) { return flat.prefill->served.bytes(); }},
      {"decode_flops", [](Row flat) { return flat.decode->served.flops; }},
      {"decode_bytes", [](Row flat) { return flat.decode->served.bytes(); }}};
  const auto add_time = [&](const std::string& key, StepTime LlmRow::*predicted, StepTime LlmRow::*roofline) {
    const auto read = [&](const std::string& name, StepTime LlmRow::*time, const auto& value) {
      columns += real_column<FlatRow>(key + name, [time, value](Row flat) {
        return flat.row && (flat.row->*time).known ? Cell(value(flat.row->*time)) : Cell();
      });
    };
    read("_seconds", predicted, [](const StepTime& time) { return time.seconds; });
    read("_p10_seconds", predicted, [](const StepTime& time) { return time.range.low; });
    read("_p90_seconds", predicted, [](const StepTime& time) { return time.range.high; });
    read("_roofline_seconds", roofline, [](const StepTime& time) { return time.seconds; });
  };
  add_time("first_token", &LlmRow::predicted_prefill, &LlmRow::prefill);
  add_time("next_token", &LlmRow::predicted_decode, &LlmRow::decode);
  columns += real_column<FlatRow>("tokens_per_second_per_user",
                                  of_row([](const LlmRow& row) { return row.user_rate(); }));
  columns += real_column<FlatRow>("tokens_per_second", of_row([](const LlmRow& row) { return row.rate(); }));
  columns +=
      {{"memory_bytes", [](Row flat) { return flat.memory; }},
       {"fits", of_row([](const LlmRow& row) { return row.fits ? "yes" : "no"; })},
       {"longest_context",
        of_row([](const LlmRow& row) { return row.longest ? Cell(*row.longest).value : CellValue(); })},
       {"largest_batch",
        [](Row flat) { return flat.device && flat.device->largest ? Cell(*flat.device->largest) : Cell(); }}};
  return table_of(columns, rows, In::kCsv);
}

}  // namespace

std::string to_format(const LlmAnswer& answer, Format format, const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { write_answer(json, answer); },
                          [&] { return flat_table(answer); }, [&] { return document_of(answer, options); }},
                   format, options);
}

}  // namespace opscope
