// Where a command's result goes. Made before the work, so that a wrong format or a path that cannot be
// written is found out first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/flags.h"
#include "report/core/report.h"
#include "report/draw/draw.h"
#include "report/svg/pictures.h"

namespace opscope {

class Output {
 public:
  explicit Output(const OutputFlags& flags, Format by_default = Format::kText);
  // Says in the options how wide, coloured and verbose the text is to be.
  Output(const CommandFlags& flags, TextOptions& options) : Output(flags.output) {
    set_style(flags, options);
  }

  Format format() const { return format_; }
  void write(std::string_view text) const;         // text as the terminal and the locale can show it
  void write_bytes(std::string_view bytes) const;  // as they are: pictures
  // Throws Error unless the format is one of those given.
  void allow_only(Format format, const char* why) const;

 protected:
  void set_style(const CommandFlags& flags, TextOptions& options) const;

 private:
  std::string path_;  // "" is stdout
  Format format_;
  int width_;
  bool color_;
};

// The files that a command writes beside its report. Throws Error where one of `written` cannot be written,
// is written twice, or is one of `read`, which a report would replace by itself. Empty paths are left out.
void check_side_files(const std::vector<std::string>& read, const std::vector<std::string>& written);

// Says on stderr that it did.
void write_beside(const std::string& path, const std::string& text, const TalkFlags& talk);

// The output of commands that write reports or pictures, whichever the file's extension or --format asks for:
// an svg, png or pdf file, or one of the formats of reports.
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

// Where a drawing goes; made before the work too.
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
