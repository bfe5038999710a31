// Which of both an output is, from its file's extension or --format.
#include "cli/output/picture_output.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "app/worker/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::array kPictures{PictureFormat::kSvg, PictureFormat::kPng, PictureFormat::kPdf};

std::string asked_for(const OutputFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  return flags.output.empty() || flags.output == "-" ? "txt" : file_extension(flags.output);
}

std::string choices_of(const std::vector<Format>& formats, std::string_view dot) {
  std::string text;
  for (const PictureFormat picture : kPictures) text.append(dot).append(name(picture)).append(", ");
  return text + choices(formats, dot);
}

std::optional<PictureFormat> picture_of(std::string_view format) {
  const auto found = std::ranges::find(kPictures, format, [](PictureFormat p) { return name(p); });
  return found == kPictures.end() ? std::nullopt : std::optional(*found);
}

[[noreturn]] void refuse(const OutputFlags& flags, const std::string& format,
                         const std::vector<Format>& formats) {
  if (!flags.format.empty())
    throw Error("no format called '" + format + "' here", "--format", "choose " + choices_of(formats, ""));
  const std::string what = format.empty() ? "the file name has no extension"
                                          : "no format for the extension '." + format + "' here";
  throw Error(what, flags.output, "end it in " + choices_of(formats, ".") + ", or say --format");
}

// Those of reports by any of their names ("text", "markdown").
bool is_one_of(const std::vector<Format>& formats, const std::string& text) {
  try {
    return std::ranges::count(formats, format_from_name(text)) > 0;
  } catch (const Error&) {
    return false;
  }
}

// What Output is to know: a picture is bytes that somebody else has made.
OutputFlags checked(OutputFlags flags, const std::vector<Format>& formats) {
  const std::string format = asked_for(flags);
  const auto picture = picture_of(format);
  if (!picture && !is_one_of(formats, format)) refuse(flags, format, formats);
  const bool to_stdout = flags.output.empty() || flags.output == "-";
  if (picture && *picture != PictureFormat::kSvg && to_stdout && ::isatty(STDOUT_FILENO))
    throw Error("a " + std::string(title(*picture)) + " is not for a terminal", "--format",
                "--output FILE." + format + " writes it to a file");
  if (picture && *picture != PictureFormat::kSvg && !pictures_available()) svg_to(*picture, {});  // says why
  flags.format = picture ? "txt" : format;
  return flags;
}

}  // namespace

PictureOutput::PictureOutput(const OutputFlags& flags, const std::vector<Format>& formats)
    : Output(checked(flags, formats)), picture_(picture_of(asked_for(flags))) {}

PictureFile::PictureFile(std::string path, const std::string& format)
    : path_(std::move(path)),
      format_(format.empty() ? picture_format_from_extension(path_) : picture_format_from_name(format)) {
  check_writable(path_);
}

std::string PictureFile::write(const Profile& profile, const DrawOptions& options,
                               std::vector<std::string>& notes) const {
  const Picture picture = draw(profile, format_, options);
  const SignalsNoted signals;
  write_file(path_, picture.bytes);
  notes.insert(notes.end(), picture.notes.begin(), picture.notes.end());
  return picture_line(path_, format_, picture);
}

}  // namespace opscope
