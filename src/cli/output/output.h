// Where a command's result goes, made before the work, so that a wrong format or a path that cannot be
// written is found out first; what the terminal is like, and what is said on it meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/worker/python_worker.h"
#include "report/core/document.h"
#include "report/draw/draw.h"
#include "report/svg/pictures.h"

namespace opscope {

struct OutputFlags {
  std::string output, format, color = "auto", width;
};
// How much is said on stderr.
struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};
// What every command with a report has.
struct CommandFlags {
  OutputFlags output;
  TalkFlags talk;
};

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

// $COLUMNS, or the columns of the terminal on stdout; 100 where there is neither.
int terminal_width();
// "auto", "always" or "never"; throws Error for other words.
bool wants_color(const std::string& when, bool to_stdout);

// Text to stderr, as the terminal and the locale can show it.
void write_stderr(std::string_view text);
// A line of it, which says whose it is.
void remark(const std::string& text);

// What is said on stderr while opscope works: on a terminal a spinner, one line that is redrawn in place;
// stages; and with --debug all that Python wrote.
class Talk : public Listener {
 public:
  explicit Talk(const TalkFlags& flags) : flags_(flags) {}
  ~Talk() override { clear(); }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  void status(const std::string& text) override;
  void progress(std::uint64_t done, std::uint64_t total, const std::string& doing) override;
  void waiting() override;
  void resting() override;
  void python_wrote(std::string_view text) override;
  void trouble(const std::string& text) override;

 private:
  void clear();

  struct Spinner {
    std::string text;
    std::size_t frame = 0;
    bool drawn = false;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };
  Spinner& spinner() { return spinner_ ? *spinner_ : spinner_.emplace(); }

  TalkFlags flags_;
  std::optional<Spinner> spinner_;  // while something is waited for
};

}  // namespace opscope
