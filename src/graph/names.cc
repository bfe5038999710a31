// The rules that read a tracer's name where nothing but the name is known, and the short form of long names.
#include "graph/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "graph/name_forms.h"

namespace opscope {
namespace {

// The usual names of parameters and buffers: what ends a name that begins with a prefix.
constexpr std::array<std::string_view, 25> kLeaves{"bias",
                                                   "bias_hh_l0",
                                                   "bias_ih_l0",
                                                   "class_token",
                                                   "cls_token",
                                                   "dist_token",
                                                   "in_proj_bias",
                                                   "in_proj_weight",
                                                   "inv_freq",
                                                   "layer_scale",
                                                   "logit_scale",
                                                   "num_batches_tracked",
                                                   "pos_embed",
                                                   "pos_embedding",
                                                   "position_ids",
                                                   "rel_pos_h",
                                                   "rel_pos_w",
                                                   "relative_position_bias_table",
                                                   "relative_position_index",
                                                   "running_mean",
                                                   "running_var",
                                                   "token_type_ids",
                                                   "weight",
                                                   "weight_hh_l0",
                                                   "weight_ih_l0"};
static_assert(std::is_sorted(kLeaves.begin(), kLeaves.end()));

// The longest that ends the text, "in_proj_weight" rather than "weight"; "" where there is none, or nothing
// else.
std::string_view leaf_of(std::string_view text) {
  std::string_view best;
  for (const auto leaf : kLeaves) {
    if (text == leaf) return {};
    if (leaf.size() <= best.size() || text.size() < leaf.size() + 2 || !text.ends_with(leaf)) continue;
    if (text[text.size() - leaf.size() - 1] == '_') best = leaf;
  }
  return best;
}

// A number at the very end of a name.
enum class LastNumber : bool { kStays, kIsComponent };

// Words and numbers between runs of underscores, put together as a path.
class Components {
 public:
  explicit Components(LastNumber last_number) : last_number_(last_number) {}

  std::string path(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto run = std::min(text.find_first_not_of('_', at), text.size()) - at;
      const auto end = std::min(text.find('_', at + run), text.size());
      if (run == text.size() - at) {
        if (last_ != Last::kIndex) path_.append(run, '_');
        break;
      }
      add(run, text.substr(at + run, end - at - run), end == text.size());
      at = end;
    }
    return std::move(path_);
  }

 private:
  enum class Last : std::uint8_t { kNothing, kWord, kNumber, kIndex };

  void add(std::size_t run, std::string_view word, bool at_end) {
    if (last_ == Last::kNothing) {
      path_.append(run, '_').append(word);
      last_ = is_number(word) ? Last::kNumber : Last::kWord;
    } else if (is_number(word)) {
      add_number(run, word, at_end && last_number_ == LastNumber::kStays);
    } else {
      add_word(run, word);
    }
  }

  // getattr(x, '0').y is "x___0___y": three for the comma, the space and the quote, two for what closes it.
  void add_number(std::size_t run, std::string_view number, bool stays) {
    if (stays) {
      path_.append(run, '_').append(number);
      return;
    }
    last_ = run >= 3 ? Last::kIndex : Last::kNumber;
    if (run >= 3) {
      path_.append("[").append(number).append("]");
    } else {
      path_.append(run - 1, '_').append(".").append(number);
    }
  }

  void add_word(std::size_t run, std::string_view word) {
    if (last_ == Last::kWord && run == 1) {
      path_.append("_").append(word);
    } else {
      path_.append(".").append(run >= 3 ? run - 3 : run - 1, '_').append(word);
    }
    last_ = Last::kWord;
  }

  LastNumber last_number_;
  Last last_ = Last::kNothing;
  std::string path_;
};

std::string without_repetition(std::string path) {
  if (path.starts_with("model.model.")) path.erase(0, 6);
  return path;
}

std::string flat_path(std::string_view text) {
  if (text.find('.') != std::string_view::npos) return std::string(text);
  const auto leaf = leaf_of(text);
  if (leaf.empty()) return Components(LastNumber::kIsComponent).path(text);
  return Components(LastNumber::kIsComponent)
      .path(text.substr(0, text.size() - leaf.size() - 1))
      .append(".")
      .append(leaf);
}

// "weight_" and, for a second placeholder of that name, "weight__1".
std::string_view without_closing(std::string_view text) {
  const auto digits = text.find_last_not_of("0123456789");
  if (digits != std::string_view::npos && digits + 1 < text.size() && digits > 0 && text[digits] == '_' &&
      text[digits - 1] == '_') {
    text = text.substr(0, digits);
  }
  if (text.ends_with('_')) text.remove_suffix(1);
  return text;
}

// What is reached by [0] and ['key'] rather than by modules: "xs_0_boxes" is "xs[0].boxes".
std::string indexed(std::string_view text) {
  std::string out;
  bool after_index = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('_', at), text.size());
    const auto word = text.substr(at, end - at);
    const bool index = !out.empty() && is_number(word);
    if (index) {
      out.append("[").append(word).append("]");
    } else {
      if (!out.empty()) out += after_index ? '.' : '_';
      out.append(word);
    }
    after_index = index;
    at = end + 1;
  }
  return out;
}

// **kwargs holds arguments by their own names.
std::string_view without_kwargs(std::string_view name) {
  constexpr std::string_view kKwargs = "kwargs_";
  return name.size() > kKwargs.size() && name.starts_with(kKwargs) ? name.substr(kKwargs.size()) : name;
}

// L['self'].scale has nothing to close, L['self'].scales[0] has, and so has an argument called self_mask.
std::string local_name(const NameParts& parts, std::string_view self) {
  const auto name = without_closing(parts.rest);
  const bool closed = name.size() < parts.rest.size();
  const bool argument = parts.of_self && closed && !is_number(name.substr(name.rfind('_') + 1));
  return argument ? std::string(self).append("_").append(name)
                  : indexed(parts.of_self ? name : without_kwargs(name));
}

// What follows a list's item and is not closed by a bracket is an attribute of it: "22_anchors" is
// "22.anchors".
std::string item_and_attribute(std::string_view text) {
  std::string out(text);
  const auto word = text.find('_');
  if (word != std::string_view::npos && is_number(text.substr(0, word))) out[word] = '.';
  return out;
}

// The name of a global, or of a local that is not self, is kept where it is a module of its own: with what it
// owns directly behind it. What has modules below is the model.
std::string marked_path(const NameParts& parts) {
  std::string path;
  if (parts.of_self || !parts.rest.starts_with("modules_")) path = indexed(parts.root);
  for (auto text = parts.rest; !text.empty();) {
    const bool leaf = !text.starts_with("modules_");
    text = without_marker(text);
    const auto end = leaf ? std::string_view::npos : next_marker(text, 1);
    if (!path.empty()) path += '.';
    const bool attribute = end == std::string_view::npos && !leaf && !text.ends_with('_');
    path += attribute ? item_and_attribute(text) : std::string(without_closing(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return path;
}

bool inside_character(std::string_view text, std::size_t at) {  // UTF-8's continuation bytes
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

// The end of a beginning of at most `most` bytes: between components if one ends in its last third.
std::size_t head_end(std::string_view name, std::size_t most) {
  const auto boundary = name.find_last_of(".[", most);
  if (boundary != std::string_view::npos && boundary > 0 && boundary >= most - most / 3) return boundary;
  while (most > 0 && inside_character(name, most)) --most;
  return most;
}

// The beginning of an end of at most `most` bytes, by the same rule.
std::size_t tail_begin(std::string_view name, std::size_t most) {
  auto begin = name.size() - most;
  const auto boundary = name.find_first_of(".[", begin);
  if (boundary != std::string_view::npos && boundary + 1 < name.size() && boundary <= begin + most / 3) {
    return boundary + (name[boundary] == '.' ? 1 : 0);
  }
  while (inside_character(name, begin)) ++begin;
  return begin;
}

// --- Names looked up among the paths of one model. A path and every name that a tracer can make of it fold
// to the same key: small letters and digits, one underscore for whatever is between them.

constexpr bool is_small(char letter) { return letter >= 'a' && letter <= 'z'; }
constexpr bool is_capital(char letter) { return letter >= 'A' && letter <= 'Z'; }

enum class Capitals : bool { kLowered, kSplit };  // "myBlock" as "myblock", or as torch.fx: "my_block"

std::string folded(std::string_view name, Capitals capitals = Capitals::kLowered) {
  std::string key;
  key.reserve(name.size());
  bool gap = false;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char letter = name[at];
    if (!is_small(letter) && !is_capital(letter) && !is_digit(letter)) {
      gap = true;
      continue;
    }
    gap = gap || (capitals == Capitals::kSplit && is_capital(letter) && at > 0 && is_small(name[at - 1]));
    if (gap && !key.empty()) key += '_';
    gap = false;
    key += is_capital(letter) ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return key;
}

// A path as Dynamo would write it in the name of an input, were everything in it a module.
std::string marked(std::string_view path) {
  std::string name;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('.', at), path.size());
    name.append("_modules_").append(path.substr(at, end - at));
    at = end + 1;
  }
  return name;
}

// The key of such a name: parameters and buffers marked as modules are, for a path does not tell which they
// are. The dot keeps these keys apart from the others.
std::string marked_key(std::string_view name, Capitals capitals = Capitals::kLowered) {
  const auto key = folded(name, capitals);
  std::string out = ".modules_";
  std::string_view text = without_marker(key);
  for (auto marker = next_marker(text, 0); marker != std::string_view::npos; marker = next_marker(text, 0)) {
    out.append(text.substr(0, marker)).append("_modules_");
    text = without_marker(text.substr(marker + 1));
  }
  return out.append(text).append("_");
}

std::string without_duplicate(std::string key) {
  const bool closed = key.ends_with('_');
  const auto end = key.size() - (closed ? 1 : 0);
  const auto last = key.find_last_not_of("0123456789", end == 0 ? 0 : end - 1);
  if (last == std::string::npos || last == 0 || last + 1 == end || key[last] != '_') return {};
  return key.substr(0, last) + (closed ? "_" : "");
}

}  // namespace

std::string shortened_name(std::string_view name, std::size_t width) {
  constexpr std::string_view kGap = "...";
  if (name.size() <= width) return std::string(name);
  if (width <= kGap.size() + 1) return std::string(name.substr(0, head_end(name, width)));
  const auto kept = width - kGap.size();
  const auto head = name.substr(0, head_end(name, kept / 2));
  return std::string(head).append(kGap).append(name.substr(tail_begin(name, kept - kept / 2)));
}

std::string readable_name(std::string_view tracer_name, std::string_view self) {
  const auto parts = name_parts(tracer_name, self);
  switch (parts.form) {
    case NameForm::kSource:
      return source_path(parts.rest, parts.global, self);
    case NameForm::kMarked:
      return marked_path(parts);
    case NameForm::kLocal:
      return local_name(parts, self);
    case NameForm::kFlat:
    case NameForm::kExport:
      return without_repetition(flat_path(parts.rest));
    case NameForm::kDotted:
      return without_repetition(std::string(parts.rest));
    case NameForm::kConst:
    case NameForm::kBare:
      break;
  }
  return without_repetition(Components(LastNumber::kStays).path(parts.rest));
}

TracerNames::TracerNames(std::span<const std::string_view> paths, std::string_view self) : self_(self) {
  for (const auto path : paths) {
    if (path.empty() || !paths_.emplace(path).second) continue;
    for (const auto capitals : {Capitals::kLowered, Capitals::kSplit}) {
      add(folded(path, capitals), path);
      add(marked_key(marked(path), capitals), path);
    }
  }
}

void TracerNames::add(std::string key, std::string_view path) {
  const auto [found, is_new] = by_key_.try_emplace(std::move(key), Candidate{std::string(path)});
  if (!is_new && found->second.path != path) found->second.only = false;
}

const std::string* TracerNames::find(std::string key, const std::string& rule) const {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) found = by_key_.find(without_duplicate(std::move(key)));
  if (found == by_key_.end()) return nullptr;
  if (!found->second.only && paths_.contains(rule)) return &*paths_.find(rule);
  return &found->second.path;
}

std::string TracerNames::readable(std::string_view tracer_name) const {
  const auto parts = name_parts(tracer_name, self_);
  auto rule = readable_name(tracer_name, self_);
  if (parts.form == NameForm::kLocal) return rule;
  if (parts.form == NameForm::kDotted && paths_.contains(std::string(parts.rest)))
    return std::string(parts.rest);
  const std::string* path = nullptr;
  if (parts.form == NameForm::kMarked) path = find(marked_key(parts.rest), rule);
  if (path == nullptr && parts.form == NameForm::kExport) path = find(folded(tracer_name), rule);
  const bool exact = parts.form == NameForm::kSource || parts.form == NameForm::kMarked;
  if (path == nullptr) path = find(folded(exact ? std::string_view(rule) : parts.rest), rule);
  if (path != nullptr) return *path;
  // A global that is no part of the model keeps its name; a module that was imported is no name of anything.
  const bool foreign = parts.form == NameForm::kFlat && parts.global && !parts.root.starts_with("__import_");
  if (foreign && !paths_.empty()) rule.insert(0, std::string(parts.root).append("."));
  return rule;
}

}  // namespace opscope
