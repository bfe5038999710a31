// Mutations that keep JSON well-formed, for the targets whose readers take JSON: a value is replaced by
// another of the document or by an odd one, or it is repeated, or left out. libFuzzer's own mutations come in
// between.
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

constexpr std::string_view kOdd[] = {"0",
                                     "-1",
                                     "1",
                                     "2147483648",
                                     "4294967295",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "1e308",
                                     "-0.0",
                                     "0.5",
                                     "null",
                                     "true",
                                     "[]",
                                     "{}",
                                     "\"\"",
                                     "\"\\u0000\"",
                                     "18446744073709551615",
                                     "[0,0]",
                                     "\"float32\"",
                                     "\"aten::add\""};

struct Span {
  std::size_t begin = 0, end = 0;
};

std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// Where the values of the document are, keys left out; a list's or an object's span holds those in it.
std::vector<Span> values_of(std::string_view text) {
  std::vector<Span> values;
  std::vector<std::size_t> open;  // in values
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t begin = at;
    if (c == '{' || c == '[') {
      open.push_back(values.size());
      values.push_back({at++, text.size()});
    } else if (c == '}' || c == ']') {
      ++at;
      if (open.empty()) continue;
      values[open.back()].end = at;
      open.pop_back();
    } else if (c == '"') {
      at = string_end(text, at);
      const auto next = text.find_first_not_of(" \t\r\n", at);
      if (next == std::string_view::npos || text[next] != ':') values.push_back({begin, at});
    } else if (std::string_view(",: \t\r\n").find(c) != std::string_view::npos) {
      ++at;
    } else {
      at = std::min(text.find_first_of(",:}] \t\r\n", at), text.size());
      values.push_back({begin, std::max(at, begin + 1)});
      at = values.back().end;
    }
  }
  return values;
}

std::string mutated(std::string_view text, std::minstd_rand& random) {
  const auto values = values_of(text);
  if (values.size() < 2) return std::string(text);
  const auto any = [&] { return values[1 + random() % (values.size() - 1)]; };
  const Span at = any(), from = any();
  const auto take = [&](Span span) { return text.substr(span.begin, span.end - span.begin); };
  std::string middle;
  std::size_t end = at.end;
  switch (random() % 4) {
    case 0:
      middle = take(from);
      break;
    case 1:
      middle = kOdd[random() % std::size(kOdd)];
      break;
    case 2:  // twice, as items of a list
      middle = std::string(take(at)) + "," + std::string(take(random() % 2 == 0 ? at : from));
      break;
    default:  // left out, with the comma behind it
      end = std::min(text.find_first_not_of(" \t\r\n", end), text.size());
      if (end < text.size() && text[end] == ',') ++end;
  }
  return std::string(text.substr(0, at.begin)) + middle + std::string(text.substr(end));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 3 == 0) return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (unsigned count = 1 + random() % 3; count > 0; --count) text = mutated(text, random);
  const std::size_t kept = std::min(text.size(), most);
  std::memcpy(data, text.data(), kept);
  return kept;
}
