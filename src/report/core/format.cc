// The formats as one table for the flag, the file name, the help and the writers.
#include <algorithm>

#include "base/text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

// The first rows are in the order of Format, the others in that of their files.
const std::vector<const FormatRow*>& sorted_rows() {
  static const std::vector<const FormatRow*> rows = [] {
    std::vector<const FormatRow*> all(format_rows().begin(), format_rows().end());
    std::ranges::stable_sort(all, {}, &FormatRow::format);
    return all;
  }();
  return rows;
}

const FormatRow& row_of(Format format) { return *sorted_rows()[static_cast<std::size_t>(format)]; }

std::optional<Format> find_format(std::string_view text) {
  for (const Format format : all_formats())
    if (!text.empty() && (row_of(format).name == text || row_of(format).extension == text)) return format;
  return std::nullopt;
}

}  // namespace

std::string_view name(Format format) { return row_of(format).name; }
bool is_for_people(Format format) { return row_of(format).document != nullptr; }

std::vector<Format> all_formats(Format first) {
  std::vector<Format> all;
  for (std::size_t i = 0; i < sorted_rows().size(); ++i) all.push_back(static_cast<Format>(i));
  std::ranges::stable_partition(all, [&](Format format) { return format == first; });
  return all;
}

std::string choices(const std::vector<Format>& formats, std::string_view dot, std::string_view gap,
                    std::string_view last_gap) {
  std::string text;
  for (const Format& format : formats)
    text.append(text.empty()                 ? ""
                : &format == &formats.back() ? last_gap
                                             : gap)
        .append(dot)
        .append(name(format));
  return text;
}

Format format_from_name(std::string_view text) {
  if (const auto format = find_format(text)) return *format;
  throw Error("no format called '" + std::string(text) + "'", "", "choose " + choices(all_formats()));
}

Format format_from_extension(const std::string& path) {
  const std::string extension = file_extension(path);
  if (const auto format = find_format(extension)) return *format;
  const std::string what = extension.empty() ? "the file name has no extension"
                                             : "no format for the extension '." + extension + "'";
  throw Error(what, path, "end it in " + choices(all_formats(), ".") + ", or say --format");
}

std::string to_format(const Table& table, Format format, const TextOptions& options) {
  return row_of(format).table(table, options);
}

std::string to_format(const Report& report, Format format, const TextOptions& options) {
  const FormatRow& row = row_of(format);
  if (row.report) return row.report(report);
  return row.document ? row.document(report.document(), options) : row.table(report.rows(), options);
}

}  // namespace opscope
