// What to capture, and the options of a capture, one row each: flags and their help, keyword arguments of
// Python, keys of budgets and of the protocol all come from these rows.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_writer.h"

namespace opscope {

// `--input NAME=SHAPE[:DTYPE]`
struct NamedInput {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype;  // "": as the model has it

  bool operator==(const NamedInput&) const = default;
};

// Everything that the result depends on, and nothing else. The command line, budgets, sweeps, the cache and
// the Python package have this one type.
struct CaptureRequest {
  using Shape = std::vector<std::int64_t>;
  using Sizes = std::map<std::string, std::int64_t>;
  using Answers = std::map<std::string, bool>;

  std::string model;
  std::vector<Shape> input_shape;  // empty: the model's own
  std::optional<std::int64_t> batch, seq_len, past_len;
  Shape image_size;  // one side, or height and width
  std::vector<NamedInput> inputs;
  std::string phase, task;
  std::string kv_cache, kv_dtype;  // "": the model's own
  std::optional<std::int64_t> kv_capacity, kv_block;
  bool last_logits = false;
  Sizes limits;                         // upper bounds of data-dependent sizes: nms=100
  Answers assume;                       // conditions on data: model.py:42=true
  std::optional<std::int64_t> max_ops;  // after which a capture is stopped
  Sizes dims;                           // dynamic dimensions of a .pt2 or ONNX file
  std::string dtype, device;            // "": the model's own
  std::string gpu;  // "8.0x108": the kind of "cuda"; "": the one at hand, else a Hopper GPU
  std::string tracer = "auto";
  std::string registry;
  bool trust = false, download = false;
  std::string quantize, quantize_only;  // how weights are stored: "": as published
  bool source_lines = false;
  bool training = false;
  std::string optimizer;                   // "": sgd, in training; "adamw:fused"
  std::string autocast;                    // a dtype; "": none
  std::optional<std::int64_t> accumulate;  // micro-steps of a training step
  std::string checkpoint, freeze;          // "layers", "selective" or patterns; patterns
  std::string lora;                        // "r=16,alpha=16,targets=q_proj,v_proj"
  bool master_weights = false, channels_last = false;
  bool use_cache = true;  // no part of what is asked

  bool is_traced() const;  // by one of PyTorch's tracers, not by the engine
};

// As the protocol has it (see worker/python_worker.h); `more` writes what a command asks for besides.
using WriteMore = std::function<void(JsonWriter&)>;
std::string to_json(const CaptureRequest& request, std::string_view command, const WriteMore& more = {});

// Whom an error speaks to: who wrote --seq-len 0, or seq_len=0.
enum class Voice : std::uint8_t { kFlags, kArguments };

// The request with names in their one spelling ("fp16" is float16). Throws Error for what no capture can be:
// sizes out of range, words that are none, options that contradict each other.
CaptureRequest checked(CaptureRequest request, Voice voice);

struct CaptureField {
  using Member =
      std::variant<std::string CaptureRequest::*, bool CaptureRequest::*,
                   std::optional<std::int64_t> CaptureRequest::*, CaptureRequest::Shape CaptureRequest::*,
                   std::vector<CaptureRequest::Shape> CaptureRequest::*,
                   std::vector<NamedInput> CaptureRequest::*, CaptureRequest::Sizes CaptureRequest::*,
                   CaptureRequest::Answers CaptureRequest::*>;
  struct Rules {
    std::string_view example{};                 // of a value, for errors
    std::int64_t least = 1;                     // of numbers
    std::span<const std::string_view> words{};  // the only ones
    std::string_view list_help{};               // in a sweep, where it may vary
    bool changes_capture = true;  // false: how the model is found, which holds for a saved graph too
    bool is_edit = false;         // of the graph after its capture: Python's worker has no part in it
  };

  std::string_view key;  // in JSON and in Python
  std::string_view flag;
  Member member;
  std::string_view type;  // of the flag's value; "": a switch
  std::string_view help;
  Rules rules{};

  bool is_switch() const { return type.empty(); }
  bool is_list() const { return member.index() >= 4; }  // the flag may be given several times
  std::string name_for(Voice voice) const;              // "--seq-len", "seq_len"
  std::string budget_key() const;                       // "seq_len", "limit"
  bool is_given(const CaptureRequest& request) const;   // not as by default
  void write(JsonWriter& json, const CaptureRequest& request) const;
};

std::span<const CaptureField> capture_fields();
const CaptureField& capture_field(std::string_view key);  // throws where there is none

// The fields in which the two differ, as `request` has them: a point of a sweep.
void write_changes(JsonWriter& json, const CaptureRequest& base, const CaptureRequest& request);

// The tracers by their names, and those that `opscope trace` compares without --tracer.
inline constexpr std::array<std::string_view, 7> kTracers{"auto",   "static", "eager", "fx",
                                                          "dynamo", "export", "hybrid"};
inline constexpr std::array<std::string_view, 4> kComparedTracers{"static", "fx", "dynamo", "export"};
// The engine's own graph, which has no tracer of PyTorch's in it.
constexpr bool is_engine(std::string_view tracer) { return tracer == "static" || tracer == "eager"; }

// Values that arrive as text, read in one place so that every mistake is told in the same voice.

// `example`: a value that would do, for the hint; "": one that fits `least`.
std::int64_t parse_integer(const std::string& flag, const std::string& text, std::int64_t least,
                           const std::string& example = "");
double parse_number(const char* flag, const std::string& text);
// The registry file that applies, absolute; "" for none.
std::string registry_path(const std::string& flag);

// A request as somebody wrote it, on a command line or in a budget file, and the request that it makes.
struct WrittenRequest {
  std::optional<std::string> positional, model;  // the model, as an argument and as --model
  // By a field's key, what was written for it: several texts where it may be given several times, "true" for
  // a switch.
  std::map<std::string, std::vector<std::string>, std::less<>> texts;
  bool no_cache = false;

  std::string named() const { return model ? *model : positional.value_or(""); }  // "": no model was
  std::string text(std::string_view key) const;                                   // the last; "": none
  void set(std::string_view key, std::string text) { texts[std::string(key)] = {std::move(text)}; }
  WrittenRequest for_model(const std::string& spec) const;  // the same of another model
};

// The capture that the words ask for; throws Error. `notes` gets what was chosen for the user.
CaptureRequest request_from(const WrittenRequest& written, std::vector<std::string>* notes = nullptr);

}  // namespace opscope
