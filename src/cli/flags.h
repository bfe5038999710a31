// Flags that several commands share. Values arrive as text and are read here, so that every mistake is told
// in the same voice.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/request.h"

namespace opscope {

struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};

struct OutputFlags {
  std::string output, format, color = "auto", width;
};

struct ModelFlags {
  std::string positional, model, batch, dtype, device, tracer = "auto", registry;
  std::vector<std::string> input_shape;
  bool no_cache = false, source_lines = false;
};

// What every command that takes a model has.
struct ModelCommandFlags {
  ModelFlags model;
  OutputFlags output;
  TalkFlags talk;
};

void add_talk_flags(CLI::App& app, TalkFlags& flags);
void add_output_flags(CLI::App& app, OutputFlags& flags);
void add_model_flags(CLI::App& app, ModelFlags& flags);
void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache);
void add_convention_flag(CLI::App& app, std::string& convention);

// The capture that the flags ask for; throws Error. `notes` gets what was chosen for the user.
CaptureRequest request_from(const ModelFlags& flags, std::vector<std::string>* notes = nullptr);

std::vector<std::int64_t> parse_shape(const std::string& text);
std::int64_t parse_integer(const char* flag, const std::string& text, std::int64_t least);
double parse_number(const char* flag, const std::string& text);
// The registry file that applies, absolute; "" for none.
std::string registry_path(const std::string& flag);

}  // namespace opscope
