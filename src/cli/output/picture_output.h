// The output of commands that write reports or pictures, whichever the file's extension or --format asks for:
// an svg, png or pdf file, or one of the formats of reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/output.h"
#include "report/draw/draw.h"
#include "report/svg/pictures.h"

namespace opscope {

class PictureOutput : public Output {
 public:
  // `formats`: those of reports that the command can write, all without it. Throws Error, before the work,
  // for other formats, for paths that cannot be written and for pictures that would go to a terminal as
  // bytes.
  explicit PictureOutput(const OutputFlags& flags,
                         const std::vector<Format>& formats = all_formats(Format::kText));
  PictureOutput(const CommandFlags& flags, TextOptions& options,
                const std::vector<Format>& formats = all_formats(Format::kText))
      : PictureOutput(flags.output, formats) {
    set_style(flags, options);
  }

  bool is_picture() const { return picture_.has_value(); }
  void write_picture(std::string_view svg) const { write_bytes(svg_to(*picture_, svg)); }

 private:
  std::optional<PictureFormat> picture_;
};

// Where a drawing goes. Made before the work, so that a format that is not known and a path that cannot be
// written are found out first.
class PictureFile {
 public:
  // `format`: "" for the one that the path's extension says.
  PictureFile(std::string path, const std::string& format);

  // Draws and writes it; gives the line that says so. `notes` gets what was left out.
  std::string write(const Profile& profile, const DrawOptions& options,
                    std::vector<std::string>& notes) const;

 private:
  std::string path_;
  PictureFormat format_;
};

}  // namespace opscope
