// Few captures answer the page: each batch's prefill and its decode step in the middle of the answer. Memory
// grows evenly with the batch and with the context: two captures more give it for every size, and the sizes
// that are the answer are captured themselves. Where that is another, captures alone decide.
#include "analyse/llm/llm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analyse/sweep/polynomial.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::int64_t kMostBatch = std::int64_t{1} << 20, kMostContext = std::int64_t{1} << 22;

using Nodes = std::vector<std::int64_t>;

// The memory of decode steps over a batch and a context, moment by moment.
class MemoryFit {
 public:
  // Of one batch it is over the context alone. nullopt where the steps are not of the same moments.
  static std::optional<MemoryFit> of(const Nodes& batches, const Nodes& tokens,
                                     const std::vector<const ServedStep*>& steps) {
    for (const ServedStep* step : steps)
      if (step == nullptr || step->memory.size() != steps.front()->memory.size()) return std::nullopt;
    MemoryFit fit;
    fit.is_of_one_ = batches.size() == 1;
    const Interpolation interpolation(fit.is_of_one_ ? Grid{tokens} : Grid{batches, tokens});
    std::set<std::vector<std::uint64_t>> seen;
    for (std::size_t i = 0; i < steps.front()->memory.size(); ++i) {
      std::vector<std::uint64_t> all;
      for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
        for (const ServedStep* step : steps) all.push_back(step->memory[i].bytes[kind].value());
      if (!seen.insert(all).second) continue;
      auto& row = fit.rows_.emplace_back();
      for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
        auto polynomial = interpolation.fit(std::span(all).subspan(kind * steps.size(), steps.size()));
        if (!polynomial) return std::nullopt;
        row.push_back(*std::move(polynomial));
      }
    }
    return fit;
  }

  std::optional<MemorySplit> at(std::int64_t batch, std::int64_t tokens) const {
    MemorySplit most;
    const std::array whole{batch, tokens};
    const auto place = std::span(whole).subspan(is_of_one_ ? 1 : 0);
    for (const auto& row : rows_) {
      MemorySplit split;
      for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
        const auto bytes = row[kind].at(place);
        if (!bytes) return std::nullopt;
        split.bytes[kind] = *bytes;
      }
      if (split.total() > most.total()) most = split;
    }
    return most;
  }

 private:
  bool is_of_one_ = false;
  std::vector<std::vector<Polynomial>> rows_;
};

class Serving {
 public:
  Serving(const LlmQuestion& question, const LlmCapture& capture) : capture_(capture) {
    answer_.question = question;
  }

  std::optional<LlmAnswer> run() {
    if (!begin()) return std::nullopt;
    for (const std::int64_t batch : question().batches) {
      answer_.prefills.push_back(needed(LlmPhase::kPrefill, batch, question().prompt));
      answer_.decodes.push_back(needed(LlmPhase::kDecode, batch, question().middle()));
    }
    learn_memory();
    for (const std::int64_t batch : question().batches)
      answer_.memory.push_back(memory_of(batch, question().context(), Trust::kCaptures).value());
    for (const ProfileOptions& options : question().devices) answer_.devices.push_back(on_device(options));
    if (question().plot) find_points();
    tell();
    return std::move(answer_);
  }

 private:
  enum class Trust : std::uint8_t { kFit, kCaptures };
  LlmQuestion& question() { return answer_.question; }
  LlmModel& model() { return answer_.model; }

  // nullptr where it cannot be captured.
  const ServedStep* step(LlmPhase phase, std::int64_t batch, std::int64_t tokens) {
    const auto [found, is_new] = steps_.try_emplace({phase, batch, tokens});
    if (!is_new) return found->second ? &*found->second : nullptr;
    ++answer_.captures;
    capture_(phase, batch, tokens, [&](const Graph* graph, const std::string& problem) {
      problem_ = problem;
      if (graph == nullptr) return;
      problem_.clear();
      found->second = served_step(*graph, phase, batch, tokens, question().routing, question().devices);
      if (phase == LlmPhase::kDecode && model().name.empty()) {
        refuse_encoders(*graph);
        model() = llm_model(*graph, batch, tokens, question().routing);
      }
      positions_ = static_cast<std::int64_t>(graph->capture.facts.positions);
      for (const Diagnostic& note : graph->diagnostics)
        if (note.kind == "assumed" && notes_.insert(note.message).second)
          answer_.notes.push_back(note.message);
    });
    return found->second ? &*found->second : nullptr;
  }

  const ServedStep& needed(LlmPhase phase, std::int64_t batch, std::int64_t tokens) {
    if (const ServedStep* found = step(phase, batch, tokens)) return *found;
    throw Error(problem_.empty() ? "a step could not be captured" : problem_,
                "the " + std::string(name(phase)) + " of batch " + std::to_string(batch) + " and " +
                    std::to_string(tokens) + " tokens",
                "--debug shows all that Python wrote");
  }

  static void refuse_encoders(const Graph& graph) {
    for (const ValueId id : graph.inputs)
      if (const auto input = graph.text(graph.values[id].name);
          input.starts_with("encoder_outputs") || input.starts_with("decoder_input"))
        throw Error(graph.capture.model + " is an encoder with a decoder", "llm",
                    "this page is for models of a decoder alone; opscope profile --phase decode takes both");
  }

  // The first captures, and what they say about sizes. False where there is none.
  bool begin() {
    const std::int64_t batch = question().batches.front();
    if (step(LlmPhase::kPrefill, batch, question().prompt) == nullptr) {
      const std::string why = problem_;
      if (step(LlmPhase::kPrefill, batch, 1) == nullptr) return false;
      problem_ = why;
    }
    if (positions_ > 0 && question().context() > positions_) shorten();
    needed(LlmPhase::kPrefill, batch, question().prompt);
    needed(LlmPhase::kDecode, batch, question().middle());
    return true;
  }

  void shorten() {
    const std::int64_t room = positions_ - question().generate;
    if (question().prompt_is_given || room < 1)
      throw Error(
          "a prompt of " + format_exact(Count{question().prompt}) + " tokens and " +
              format_exact(Count{question().generate}) + " generated ones are more than the model's " +
              format_exact(Count{positions_}) + " positions",
          "--prompt", room < 1 ? "generate fewer tokens" : "a prompt of up to " + format_exact(Count{room}));
    question().prompt = room;
    answer_.notes.push_back("a prompt of " + format_exact(Count{room}) + " tokens: the model has " +
                            format_exact(Count{positions_}) + " positions");
  }

  // Two batches above 1, and two contexts.
  void learn_memory() {
    std::set<std::int64_t> above;
    for (const std::int64_t batch : question().batches)
      if (batch > 1 && above.size() < 2) above.insert(batch);
    for (const std::int64_t more : {8, 32, 4})
      if (above.size() < 2) above.insert(more);
    const Nodes batches(above.begin(), above.end());
    std::int64_t full = question().context() - 1;
    if (full == question().middle()) full = std::max<std::int64_t>(question().middle() / 2, 1);
    Nodes tokens{question().middle(), full};
    std::ranges::sort(tokens);
    if (tokens[0] == tokens[1]) return;
    const auto fit = [&](const Nodes& of) {
      std::vector<const ServedStep*> steps;
      for (const std::int64_t batch : of)
        for (const std::int64_t count : tokens) steps.push_back(step(LlmPhase::kDecode, batch, count));
      return MemoryFit::of(of, tokens, steps);
    };
    several_ = fit(batches);
    if (std::ranges::find(question().batches, 1) != question().batches.end()) one_ = fit({1});
  }

  std::optional<MemorySplit> decode_memory(std::int64_t batch, std::int64_t tokens, Trust trust) {
    const auto known = steps_.find({LlmPhase::kDecode, batch, tokens});
    if (trust == Trust::kCaptures || known != steps_.end()) {
      const ServedStep* found = step(LlmPhase::kDecode, batch, tokens);
      return found ? std::optional(found->at_peak) : std::nullopt;
    }
    const auto& fit = batch == 1 ? one_ : several_;
    if (fit)
      if (const auto split = fit->at(batch, tokens)) return split;
    return decode_memory(batch, tokens, Trust::kCaptures);
  }

  // While a step runs with every sequence at the context, or the prompt of one more is read beside them.
  std::optional<MemorySplit> memory_of(std::int64_t batch, std::int64_t context, Trust trust) {
    auto most = decode_memory(batch, context - 1, trust);
    if (!most) return most;
    if (const ServedStep* prefill = step(LlmPhase::kPrefill, 1, question().prompt)) {
      MemorySplit reading = prefill->at_peak;
      reading[MemoryKind::kKvCache] = (*most)[MemoryKind::kKvCache];
      if (reading.total() > most->total()) most = reading;
    }
    return most;
  }

  // The largest from `low` to `high` of which `fits` is true; low - 1 where none is.
  template <class Fits>
  static std::int64_t largest(std::int64_t low, std::int64_t high, const Fits& fits) {
    std::int64_t good = low - 1;
    for (std::int64_t reach = 1; good < high;
         reach *= 2) {  // not all at once: captures of huge steps are slow
      const std::int64_t next = std::min(good + reach, high);
      if (!fits(next)) {
        high = next - 1;
        break;
      }
      good = next;
    }
    while (good < high) {
      const std::int64_t middle = good + (high - good + 1) / 2;
      fits(middle) ? good = middle : high = middle - 1;
    }
    return good;
  }

  // By what the fit says, where the capture of the answer agrees; else by captures.
  template <class Place>
  std::int64_t search(std::int64_t low, std::int64_t high, const LlmDevice& device, const Place& place) {
    const auto fits = [&](std::int64_t value, Trust trust) {
      const auto [batch, context] = place(value);
      const auto split = memory_of(batch, context, trust);
      return split && memory_need(*split, device.reserve).total() <= device.memory;
    };
    const std::int64_t found = largest(low, high, [&](auto value) { return fits(value, Trust::kFit); });
    if (found < low) return fits(low, Trust::kCaptures) ? low : found;
    const auto [batch, context] = place(found);
    const auto said = memory_of(batch, context, Trust::kFit),
               is = memory_of(batch, context, Trust::kCaptures);
    if (said && is && *said == *is) return found;
    return largest(low, high, [&](auto value) { return fits(value, Trust::kCaptures); });
  }

  LlmDevice on_device(const ProfileOptions& options) {
    LlmDevice device{.options = options, .number = answer_.devices.size()};
    note_prediction(device);
    const bool known = device.device().memory_size.has_value();
    const Count one = known ? Count{static_cast<std::uint64_t>(device.device().memory_size->value)} : Count{};
    const Reserve reserve = known ? Reserve::from(question().reserve, one, true) : Reserve{};
    const auto smallest = std::ranges::min_element(question().batches) - question().batches.begin();
    if (known) device.devices = devices_for(answer_.memory[static_cast<std::size_t>(smallest)], one, reserve);
    const Count count{device.devices};
    device.memory = one * count;
    device.reserve = {.by_default = reserve.by_default, .fixed = reserve.fixed * count};
    device.ridge = ridge_of(options);
    for (std::size_t i = 0; i < question().batches.size(); ++i)
      device.rows.push_back(row_of(device, i, one, reserve, known));
    if (!known) return device;
    const std::int64_t batch = search(
        1, kMostBatch, device, [&](std::int64_t value) { return std::pair(value, question().context()); });
    if (batch > 0) {
      device.largest = batch;
      device.largest_memory = memory_of(batch, question().context(), Trust::kFit);
    }
    return device;
  }

  void note_prediction(const LlmDevice& device) {
    for (const auto* steps : {&answer_.prefills, &answer_.decodes})
      for (const ServedStep& each : *steps)
        for (const std::string& note : each.predicted[device.number].notes)
          if (notes_.insert(note).second) answer_.time_notes.push_back(note);
  }

  static std::int64_t devices_for(const MemorySplit& memory, Count one, const Reserve& reserve) {
    const MemoryNeed need = memory_need(memory, {.by_default = reserve.by_default});
    const Count free = one - reserve.fixed;
    if (!free) return 1;
    const Count whole = need.total() / free;
    return as_signed(std::max(whole * free < need.total() ? whole + Count{1} : whole, Count{1}));
  }

  LlmRow row_of(const LlmDevice& device, std::size_t index, Count one, const Reserve& reserve, bool known) {
    const std::int64_t batch = question().batches[index];
    LlmRow row{.batch = batch, .memory = answer_.memory[index]};
    row.prefill = step_time(answer_.prefills[index].served, device.options, device.devices);
    row.decode = step_time(answer_.decodes[index].served, device.options, device.devices);
    row.predicted_prefill = predicted_time(answer_.prefills[index].predicted[device.number], device.devices);
    row.predicted_decode = predicted_time(answer_.decodes[index].predicted[device.number], device.devices);
    row.need = memory_need(row.memory, device.reserve);
    row.fits = !known || row.need.total() <= device.memory;
    if (!known) return row;
    row.devices = devices_for(row.memory, one, reserve);
    const std::int64_t most = positions_ > 0 ? positions_ : kMostContext;
    const std::int64_t context =
        search(2, most, device, [&](std::int64_t value) { return std::pair(batch, value); });
    if (context >= 2) row.longest = context;
    row.longest_is_positions = context == most && positions_ > 0;
    return row;
  }

  // Of the units that most of the products run on, as profiles have it.
  double ridge_of(const ProfileOptions& options) const {
    std::map<const Peak*, Count> macs;
    for (const ServedKernel& kernel : answer_.prefills.front().served.kernels)
      for (const KernelWork& each : kernel.work)
        if (const Peak* peak = product_peak(*options.hardware, each.category, each.dtype, options.float32))
          macs[peak] += each.work.macs;
    const Peak* peak = main_peak(*options.hardware, macs);
    return peak ? peak->rate.value / options.hardware->memory_bandwidth.value : 0;
  }

  // Powers of two up to the largest batch, at the context and at longer ones.
  void find_points() {
    const LlmDevice* device = answer_.devices.empty() ? nullptr : &answer_.devices.front();
    const std::int64_t asked = std::ranges::max(question().batches);
    const std::int64_t most = device && device->largest ? std::max(asked, *device->largest) : asked;
    std::set<std::int64_t> batches(question().batches.begin(), question().batches.end());
    for (std::int64_t batch = 1; batch <= most && batch <= 1024; batch *= 2) batches.insert(batch);
    for (const std::int64_t times : {1, 4, 16}) {
      const std::int64_t context = question().context() * times;
      if (times > 1 && positions_ > 0 && context > positions_) break;
      for (const std::int64_t batch : batches) {
        const ServedStep* found = step(LlmPhase::kDecode, batch, context - 1);
        const auto memory = memory_of(batch, context, Trust::kFit);
        if (found == nullptr || !memory) continue;
        LlmPoint point{.batch = batch, .context = context, .memory = memory->total()};
        if (device) {
          const StepTime time = predicted_time(found->predicted[device->number], device->devices);
          point.user_rate = time.seconds > 0 ? 1 / time.seconds : 0;
          point.rate = point.user_rate * static_cast<double>(batch);
          point.fits = !device->memory || memory_need(*memory, device->reserve).total() <= device->memory;
        }
        answer_.points.push_back(point);
      }
    }
  }

  void tell() {
    if (model().published_dtype.empty())
      answer_.notes.push_back("the dtype of its published weights is not known: these are " +
                              model().weight_dtypes);
  }

  using Key = std::tuple<LlmPhase, std::int64_t, std::int64_t>;

  const LlmCapture& capture_;
  LlmAnswer answer_;
  std::map<Key, std::optional<ServedStep>> steps_;
  std::optional<MemoryFit> one_, several_;
  std::set<std::string> notes_;
  std::string problem_;  // of the last capture that failed
  std::int64_t positions_ = 0;
};

}  // namespace

StepTime predicted_time(const PredictedStep& step, std::int64_t devices) {
  StepTime time{.seconds = step.seconds, .is_predicted = true};
  double own = step.own_spread;
  if (devices > 1) {
    const auto count = static_cast<double>(devices);
    const double host = step.mode == RunMode::kEager ? step.host_seconds : 0;  // each device has its own host
    time.seconds = std::max(step.device_seconds / count, host), own /= count;
  }
  time.known = step.unknown_ops == 0 && time.seconds > 0;
  time.range = range_of(time.seconds, own, step.run_spread);
  return time;
}

StepTime step_time(const StepCosts& step, const ProfileOptions& options, std::int64_t devices) {
  StepTime time;
  const auto count = static_cast<double>(std::max<std::int64_t>(devices, 1));
  for (const ServedKernel& kernel : step.kernels) {
    const RooflineTime one = roofline_time(*options.hardware, kernel, options.float32);
    time.known &= one.known;
    time.seconds += one.seconds() / count;
    if (one.compute_seconds() > one.memory_seconds) time.compute_seconds += one.seconds() / count;
  }
  return time;
}

std::optional<LlmAnswer> ask_llm(const LlmQuestion& question, const LlmCapture& capture) {
  return Serving(question, capture).run();
}

}  // namespace opscope
