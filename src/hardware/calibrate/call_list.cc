#include "hardware/calibrate/call_list.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::string_view kForms = "forms", kCalls = "calls";
constexpr char kHole = '#';

bool is_number_byte(char byte) {
  return (byte >= '0' && byte <= '9') || byte == ',' || byte == '-' || byte == '.' || byte == 'e' ||
         byte == '+';
}

// Where sizes and numbers stand: in brackets, and alone behind ": ".
struct Numbers {
  std::size_t begin = 0, end = 0;
};
std::optional<Numbers> numbers_at(std::string_view text, std::size_t at) {
  const bool in_brackets = text[at] == '[';
  if (!in_brackets && text.substr(at, 2) != ": ") return std::nullopt;
  const std::size_t begin = at + (in_brackets ? 1 : 2);
  std::size_t end = begin;
  while (end < text.size() && is_number_byte(text[end]) && (in_brackets || text[end] != ',')) ++end;
  if (end == begin || end == text.size()) return std::nullopt;
  const bool digit = text.substr(begin, end - begin).find_first_of("0123456789") != std::string_view::npos;
  const bool closed = in_brackets ? text[end] == ']' : text[end] == ',' || text[end] == ')';
  return digit && closed ? std::optional(Numbers{begin, end}) : std::nullopt;
}

struct Split {
  std::string form, numbers;
};
Split split(std::string_view call) {
  Split made;
  for (std::size_t at = 0; at < call.size();) {
    if (const auto found = numbers_at(call, at)) {
      made.form.append(call.substr(at, found->begin - at)) += kHole;
      made.numbers.append(" ").append(call.substr(found->begin, found->end - found->begin));
      at = found->end;
    } else {
      made.form += call[at++];
    }
  }
  return made;
}

std::optional<std::string> joined(std::string_view form, std::string_view numbers) {
  std::string call;
  for (const char byte : form) {
    if (byte != kHole) {
      call += byte;
      continue;
    }
    if (numbers.empty()) return std::nullopt;
    const auto end = std::min(numbers.find(' '), numbers.size());
    call += numbers.substr(0, end);
    numbers.remove_prefix(std::min(end + 1, numbers.size()));
  }
  return numbers.empty() ? std::optional(std::move(call)) : std::nullopt;
}

}  // namespace

std::vector<std::string> read_call_list(std::string_view text, const std::string& name) {
  std::vector<std::string_view> forms;
  std::vector<std::string> calls;
  bool in_calls = false, in_forms = false;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    const auto fail = [&] {
      throw Error("not a line of a list of calls: '" + std::string(line.substr(0, 60)) + "'",
                  name + ":" + std::to_string(number));
    };
    if (line.empty() || line.starts_with("# ")) continue;
    if (line == kForms || line == kCalls) {
      in_forms = line == kForms, in_calls = line == kCalls;
    } else if (in_forms) {
      forms.push_back(line);
    } else {
      const auto space = std::min(line.find(' '), line.size());
      const auto form = number_from<std::size_t>(line.substr(0, space));
      if (!in_calls || !form || *form >= forms.size()) fail();
      auto call = joined(forms[*form], line.substr(std::min(space + 1, line.size())));
      if (!call) fail();
      calls.push_back(std::move(*call));
    }
  }
  return calls;
}

std::string write_call_list(std::span<const std::string> calls) {
  std::map<std::string, std::size_t, std::less<>> places;
  std::string forms, lines;
  for (const std::string& call : calls) {
    Split made = split(call);
    if (joined(made.form, std::string_view(made.numbers).substr(made.numbers.empty() ? 0 : 1)) != call)
      throw Error("a call that a list cannot hold: '" + call.substr(0, 60) + "'");
    const auto [found, fresh] = places.try_emplace(made.form, places.size());
    if (fresh) forms.append(made.form).append("\n");
    lines.append(fmt::format("{}{}\n", found->second, made.numbers));
  }
  return fmt::format("{}\n{}{}\n{}", kForms, forms, kCalls, lines);
}

std::vector<std::string> known_call_list(std::string_view device) {
  for (const EmbeddedFile& file : embedded_call_lists())
    if (file.name.substr(0, file.name.find('.')) == device)
      return read_call_list(file.text, std::string(file.name));
  throw Error("opscope has no list of calls for '" + std::string(device) + "'", "--on", "choose cpu or cuda");
}

}  // namespace opscope
