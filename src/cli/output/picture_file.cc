// Drawings to files, whole or not at all.
#include "cli/output/picture_file.h"

#include "app/worker/signals.h"
#include "base/error.h"
#include "base/files.h"

namespace opscope {

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
