// The formats: one table for the flag, the file name, the help and the writers. A new one is a file with its
// writer, and a row here.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

struct FormatRow {
  std::string_view name, extensions;  // the name is an extension too
  std::string (*table)(const Table&, const TextOptions&);
  std::string (*document)(const Document&, const TextOptions&);  // of those for people
};

// The first rows are in the order of Format.
constexpr std::array kFormats{
    FormatRow{"json", "", json_rows, nullptr},
    FormatRow{"csv", "", to_csv, nullptr},
    FormatRow{"md", "markdown", markdown_table, to_markdown},
    FormatRow{"txt", "text", text_table, to_text},
    FormatRow{"html", "htm", html_table, to_html},
};

const FormatRow& row_of(Format format) { return kFormats[static_cast<std::size_t>(format)]; }

const FormatRow* find_format(std::string_view text) {
  const auto is = [&](const FormatRow& row) { return row.name == text || row.extensions == text; };
  const auto found = text.empty() ? kFormats.end() : std::ranges::find_if(kFormats, is);
  return found == kFormats.end() ? nullptr : &*found;
}

Format format_of(const FormatRow& row) { return static_cast<Format>(&row - kFormats.data()); }

// ".txt, .json or .csv"
std::string choices(std::string_view dot) {
  std::string text;
  for (std::size_t i = 0; i < kFormats.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == kFormats.size() ? " or " : ", ").append(dot).append(kFormats[i].name);
  return text;
}

}  // namespace

std::string_view name(Format format) { return row_of(format).name; }
bool is_for_people(Format format) { return row_of(format).document != nullptr; }
std::string format_choices() { return choices(""); }

Format format_from_name(std::string_view text) {
  if (const FormatRow* row = find_format(text)) return format_of(*row);
  throw Error("no format called '" + std::string(text) + "'", "", "choose " + choices(""));
}

Format format_from_extension(const std::string& path) {
  const std::string extension = file_extension(path);
  if (const FormatRow* row = find_format(extension)) return format_of(*row);
  const std::string what = extension.empty() ? "the file name has no extension"
                                             : "no format for the extension '." + extension + "'";
  throw Error(what, path, "end it in " + choices(".") + ", or say --format");
}

std::string to_format(const Table& table, Format format, const TextOptions& options) {
  return row_of(format).table(table, options);
}

std::string to_format(const Report& report, Format format, const TextOptions& options) {
  const FormatRow& row = row_of(format);
  if (row.document) return row.document(report.document(), options);
  if (format != Format::kJson) return row.table(report.rows(), options);
  std::string out;
  JsonWriter json(out);
  report.json(json);
  json.end_object();
  return out + "\n";
}

}  // namespace opscope
