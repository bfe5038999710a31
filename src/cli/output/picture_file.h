// Where a drawing goes. Made before the work, so that a format that is not known and a path that cannot be
// written are found out first.
#pragma once

#include <string>

#include "report/draw/draw.h"

namespace opscope {

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
