// Each item of the file has one place in the device; what has none is a mistake, told with the nearest key.
#include "hardware/device.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 20> kKnown{"id",
                                                  "name",
                                                  "kind",
                                                  "vendor",
                                                  "architecture",
                                                  "note",
                                                  "reported_as",
                                                  "cores",
                                                  "aliases",
                                                  "memory.size",
                                                  "memory.bandwidth",
                                                  "peaks.matrix",
                                                  "peaks.vector",
                                                  "caches.L1",
                                                  "caches.L2",
                                                  "caches.L3",
                                                  "launch.overhead",
                                                  "power.limit",
                                                  "compute_capability",
                                                  "processors"};

class DeviceReader {
 public:
  DeviceReader(std::string_view text, const std::string& name)
      : name_(name), items_(read_plain_toml(text, name)) {}

  Device read() {
    for (const TomlItem& item : items_) place(item);
    check();
    return std::move(device_);
  }

 private:
  std::string where(const TomlItem& item) const { return name_ + ":" + std::to_string(item.line); }
  [[noreturn]] void fail(const TomlItem& item, const std::string& what, const std::string& hint = "") const {
    throw Error(what, where(item), hint);
  }

  void place(const TomlItem& item) {
    const auto parts = split_by(item.path, '.');  // "peaks", "matrix", "float16", "value"
    if (parts.size() == 1) return text(item);
    if (item.is_list) fail(item, "'" + item.path + "' is one text, not a list");
    if (parts[0] == "sources" && parts.size() == 2)
      return device_.sources.emplace_back(parts[1], item.values[0]), void();
    if (Figure* figure = figure_of(item, parts)) return part(item, parts.back(), *figure);
    unknown(item);
  }

  void text(const TomlItem& item) {
    const std::string& key = item.path;
    if (key == "aliases") return list(item, device_.aliases);
    if (key == "reported_as") return list(item, device_.reported_as);
    if (item.is_list) fail(item, "'" + key + "' is one text, not a list");
    if (key == "cores") return cores(item);
    for (const auto& [name, field] :
         {std::pair{"id", &Device::id}, std::pair{"name", &Device::name}, std::pair{"kind", &Device::kind},
          std::pair{"vendor", &Device::vendor}, std::pair{"architecture", &Device::architecture},
          std::pair{"note", &Device::note}})
      if (key == name) return device_.*field = item.values[0], void();
    unknown(item);
  }
  void list(const TomlItem& item, std::vector<std::string>& into) {
    if (!item.is_list) fail(item, "'" + item.path + "' is a list", item.path + " = [\"one\", \"another\"]");
    into = item.values;
  }
  void cores(const TomlItem& item) {
    const std::string& text = item.values[0];
    device_.cores = number_from<std::uint32_t>(text).value_or(0);
    if (device_.cores == 0) fail(item, "'" + text + "' is not a number of cores", "for example cores = 64");
  }

  // Where a figure's "value" and "source" go; nullptr for a path that is none's.
  Figure* figure_of(const TomlItem& item, const std::vector<std::string_view>& parts) {
    if (parts[0] == "peaks" && parts.size() == 4) return peak(item, parts[1], parts[2]);
    if (parts[0] == "caches" && parts.size() == 4) return cache(parts[1], parts[2]);
    if (parts.size() == 2 && parts[0] == "compute_capability")
      return made(Unit::kPlain, device_.compute_capability);
    if (parts.size() == 2 && parts[0] == "processors") return made(Unit::kPlain, device_.processors);
    if (parts.size() != 3) return nullptr;
    const std::string_view path = std::string_view(item.path).substr(0, item.path.rfind('.'));
    if (path == "memory.bandwidth") return unit_ = Unit::kBandwidth, &device_.memory_bandwidth;
    if (path == "memory.size") return made(Unit::kBytes, device_.memory_size);
    if (path == "launch.overhead") return made(Unit::kSeconds, device_.launch_overhead);
    if (path == "power.limit") return made(Unit::kPower, device_.power_limit);
    return nullptr;
  }
  Figure* made(Unit unit, std::optional<Figure>& figure) {
    unit_ = unit;
    if (!figure) figure.emplace();
    return &*figure;
  }
  Figure* peak(const TomlItem& item, std::string_view units_name, std::string_view dtype) {
    if (units_name != "matrix" && units_name != "vector") return nullptr;
    if (!std::ranges::count(kPeakNames, dtype))
      fail(item, "no such type of number: '" + std::string(dtype) + "'", did_you_mean(dtype, kPeakNames));
    unit_ = Unit::kFlopRate;
    const Units units = units_name == "matrix" ? Units::kMatrix : Units::kVector;
    if (const Peak* there = device_.peak(units, dtype)) return &const_cast<Peak*>(there)->rate;
    return &device_.peaks.emplace_back(Peak{units, std::string(dtype), {}}).rate;
  }
  Figure* cache(std::string_view level, std::string_view what) {
    if (what != "size" && what != "bandwidth") return nullptr;
    auto found = std::ranges::find(device_.caches, level, &DeviceCache::level);
    if (found == device_.caches.end())
      found = device_.caches.insert(found, {std::string(level), std::nullopt, std::nullopt});
    return what == "size" ? made(Unit::kBytes, found->size) : made(Unit::kBandwidth, found->bandwidth);
  }

  void part(const TomlItem& item, std::string_view key, Figure& figure) {
    if (key == "value") {
      figure.text = item.values[0];
      figure.value = unit_ == Unit::kPlain ? count(item) : parse_figure(unit_, figure.text, where(item));
    } else if (key == "source") {
      figure.source = item.values[0];
    } else {
      fail(item, "no such key: '" + item.path + "'", "a figure has value and source");
    }
  }

  double count(const TomlItem& item) const {
    const std::string& text = item.values[0];
    const bool is_processors = item.path.starts_with("processors");
    const auto device = cuda_device_from(is_processors ? "9.0x" + text : text + "x1");
    if (!device)
      fail(item, "'" + text + "' is no " + (is_processors ? "number of processors" : "compute capability"),
           is_processors ? "for example 108" : "for example 8.0");
    return number_from<double>(text).value_or(0);  // which a device of it was made of
  }

  [[noreturn]] void unknown(const TomlItem& item) const {
    const std::string near_table =
        did_you_mean(item.path.substr(0, item.path.rfind('.')), kKnown,
                     "memory.bandwidth = { value = \"4.8 TB/s\", source = \"...\" }");
    fail(item, "no such key: '" + item.path + "'", did_you_mean(item.path, kKnown, near_table));
  }

  void check() const {
    const auto need = [&](bool there, const std::string& what, const std::string& hint) {
      if (!there) throw Error(what, name_, hint);
    };
    need(!device_.id.empty(), "the device has no id", "for example id = \"my-gpu\"");
    need(!device_.name.empty(), "the device has no name", "for example name = \"My GPU 24GB\"");
    need(device_.kind == "gpu" || device_.kind == "cpu", "the device has no kind, or one that is not known",
         "kind = \"gpu\" or kind = \"cpu\"");
    need(device_.memory_bandwidth.value > 0, "the memory's bandwidth is missing",
         "[memory] bandwidth = { value = \"900 GB/s\", source = \"...\" }");
    need(device_.peak(Units::kVector, "float32") != nullptr, "the peak of vector units in float32 is missing",
         "[peaks.vector] float32 = { value = \"19.5 TFLOP/s\", source = \"...\" }");
    for (const Peak& peak : device_.peaks)
      need(peak.rate.value > 0,
           "a peak has no value: " + std::string(opscope::name(peak.units)) + " " + peak.dtype,
           "value = \"19.5 TFLOP/s\"");
    const auto valued = [&](const std::optional<Figure>& figure, const std::string& what) {
      need(!figure || figure->value > 0, what + " has a source but no value", "value = \"...\"");
    };
    valued(device_.compute_capability, "compute_capability");
    valued(device_.processors, "processors");
    need(device_.compute_capability.has_value() == device_.processors.has_value(),
         "a CUDA device has both a compute capability and a number of processors",
         "compute_capability = { value = \"8.0\" }, processors = { value = \"108\" }");
    valued(device_.memory_size, "memory.size");
    valued(device_.launch_overhead, "launch.overhead");
    valued(device_.power_limit, "power.limit");
    for (const DeviceCache& cache : device_.caches) {
      valued(cache.size, "caches." + cache.level + ".size");
      valued(cache.bandwidth, "caches." + cache.level + ".bandwidth");
    }
  }

  const std::string& name_;
  std::vector<TomlItem> items_;
  Device device_;
  Unit unit_ = Unit::kFlopRate;  // of the figure being filled
};

constexpr std::string_view kSpaces = " \t\r";

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<TomlItem> read() {
    if (!is_utf8(text_)) fail("this is not UTF-8 text");
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      rest_ = text_.substr(at, end - at);
      ++line_;
      statement();
      at = end + 1;
    }
    return std::move(items_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const {
    throw Error(what, name_ + ":" + std::to_string(line_), hint);
  }

  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size())); }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(std::string("here a '") + c + "' is missing");
  }

  void statement() {
    skip();
    if (rest_.empty() || rest_.front() == '#') return;
    if (take('[')) {
      table_ = key();
      need(']');
      if (std::ranges::count(tables_, table_)) fail("the table [" + table_ + "] is there twice");
      tables_.push_back(table_);
    } else {
      const std::string path = joined(table_, key());
      need('=');
      value(path);
    }
    skip();
    if (!rest_.empty() && rest_.front() != '#') fail("'" + std::string(rest_) + "' is too much on this line");
  }

  // "memory.bandwidth"
  std::string key() {
    std::string path = bare_key();
    while (take('.')) path.append(".").append(bare_key());
    return path;
  }
  std::string bare_key() {
    skip();
    const auto stop = std::ranges::find_if_not(rest_, is_key_letter);
    std::string name(rest_.begin(), stop);
    if (name.empty()) fail("here a key is missing", "for example kind = \"gpu\"");
    rest_.remove_prefix(name.size());
    return name;
  }
  static std::string joined(const std::string& table, const std::string& key) {
    return table.empty() ? key : table + "." + key;
  }

  void value(const std::string& path) {
    if (take('{')) return inline_table(path);
    TomlItem item{path, {}, false, line_};
    if (take('[')) {
      item.is_list = true;
      while (!take(']')) {
        item.values.push_back(string());
        if (take(',')) continue;
        need(']');
        break;
      }
    } else {
      item.values.push_back(string());
    }
    if (std::ranges::find(items_, path, &TomlItem::path) != items_.end())
      fail("'" + path + "' is there twice");
    items_.push_back(std::move(item));
  }

  void inline_table(const std::string& path) {
    if (take('}')) return;
    do {
      const std::string inner = joined(path, key());
      need('=');
      value(inner);
    } while (take(','));
    need('}');
  }

  std::string string() {
    skip();
    if (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') return number();
    if (rest_.starts_with("\"\"\"")) fail("text here is on one line, between one pair of quotes");
    if (!take('"'))
      fail("'" + std::string(rest_.substr(0, rest_.find_first_of(",]} \t"))) + "' is not a string",
           "quantities are written with their unit, in quotes: \"4.8 TB/s\"");
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') out += letter();
    need('"');
    return out;
  }
  // Its digits as they stand.
  std::string number() {
    std::string digits(rest_.substr(0, rest_.find_first_not_of("0123456789.")));
    rest_.remove_prefix(digits.size());
    return digits;
  }
  char letter() {
    char c = rest_.front();
    rest_.remove_prefix(1);
    if (c != '\\') return c;
    if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\\'))
      fail("of escapes only \\\" and \\\\ are known here");
    c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view text_, rest_;
  const std::string& name_;
  int line_ = 0;
  std::string table_;
  std::vector<std::string> tables_;
  std::vector<TomlItem> items_;
};

}  // namespace

std::string_view name(Units units) { return units == Units::kMatrix ? "matrix" : "vector"; }

const Peak* Device::peak(Units units, std::string_view dtype) const {
  for (const Peak& row : peaks)
    if (row.units == units && row.dtype == dtype) return &row;
  return nullptr;
}

std::optional<CudaDevice> Device::cuda() const {
  if (!compute_capability || !processors) return std::nullopt;
  return cuda_device_from(compute_capability->text + "x" + processors->text);
}

Device read_device(std::string_view text, const std::string& name) { return DeviceReader(text, name).read(); }

std::vector<TomlItem> read_plain_toml(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace opscope
