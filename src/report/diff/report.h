// A diff for people and for programs: `opscope diff`.
#pragma once

#include <string>
#include <vector>

#include "analyse/diff/diff.h"
#include "report/core/document.h"
#include "report/svg/pictures.h"

namespace opscope {

std::string to_format(const ModelDiff& diff, Format format, const TextOptions& options = {});

Document diff_document(const ModelDiff& diff, const TextOptions& options);

// The graph of both, additions green, removals red, what changed amber; needs both graphs.
std::string draw_diff(const ModelDiff& diff, const Profile& base, const Profile& now, PictureFormat format,
                      std::size_t max_boxes);

// "48 layers changed, 2 added, 1 removed, 1 moved, 127 unchanged"; "no difference" where there is none.
std::string diff_summary(const ModelDiff& diff);
// What to know before reading the numbers: other inputs, ops of unknown cost, no arguments of ops.
std::vector<std::string> diff_notes(const ModelDiff& diff);
// What one row of the outline tells: "out_channels 64 -> 128", "+2 Bottleneck, 3 changed", "from conv1".
std::string outline_words(const ModelDiff& diff, const OutlineRow& row);
struct StatusLook {
  std::string_view mark;  // "+", "-", "~", ">", " "
  Style style;
};
const StatusLook& look_of(DiffStatus status);
// "+169.5%", "x12.3" from tenfold on, "new" from nothing.
std::string relative_change(const Amount& before, const Amount& after);

}  // namespace opscope
