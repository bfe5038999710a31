// The diff as a comment on a pull request: the totals at once, everything else behind a click.
#include <fmt/format.h>

#include "base/text.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

constexpr std::size_t kMostRows = 60;  // a comment has its limits

std::string details(const std::string& summary, const Section& section, bool open) {
  std::string out = fmt::format("\n<details{}><summary>{}</summary>\n\n{}", open ? " open" : "",
                                html_escaped(summary), markdown_table(section.table));
  for (const std::string& remark : section.remarks) out += "\n" + html_escaped(remark) + "\n";
  return out + "\n</details>\n";
}

// Only what changed: the rest of the totals says nothing.
Section changed_totals(const ModelDiff& diff) {
  Section section = diff_totals_section(diff);
  std::erase_if(section.table.rows, [](const std::vector<Cell>& row) { return text_of(row[3]) == "-"; });
  section.table.columns.front().title = "";
  return section;
}

}  // namespace

std::string diff_markdown(const ModelDiff& diff, const TextOptions& options) {
  std::string out = fmt::format("### `{}` \u2192 `{}`\n\n{}\n", diff.base_label, diff.new_label,
                                html_escaped(diff_summary(diff)));
  for (const std::string& note : diff_notes(diff)) out += "\n> " + html_escaped(note) + "\n";
  if (diff.same()) return out;
  if (const Section totals = changed_totals(diff); !totals.table.rows.empty())
    out += "\n" + markdown_table(totals.table);
  const Section changes = diff_changes_section(diff, options);
  out += details("What changed", changes, changes.table.rows.size() < kMostRows / 6);
  if (!diff.types.empty()) out += details("By op type", diff_types_section(diff, options), false);
  return out;
}

}  // namespace opscope
