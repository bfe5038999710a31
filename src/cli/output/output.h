// Where a command's result goes. Made before the work, so that a wrong format or a path that cannot be
// written is found out first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/flags.h"
#include "report/core/report.h"

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

}  // namespace opscope
