// A request as somebody wrote it, on a command line or in a budget file, and the request that it makes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/request/fields.h"

namespace opscope {

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
