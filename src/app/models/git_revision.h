// Models of earlier versions: `HEAD~1:model.py:build`. The revision's whole tree is put into a folder of its
// own, so that what the file imports is of that version too; the user's repository is only read.
#pragma once

#include <string>
#include <vector>

#include "app/models/models.h"

namespace opscope {

// The same file at a revision: "model.py:build" -> "REV:model.py:build"; throws Error where it is no file of
// code.
std::string at_revision(const std::string& revision, const std::string& spec);

// As load_models, with revisions among the specs; each of these by a Python of its own, in its own tree.
std::vector<LoadedModel> load_versions(const std::vector<std::string>& specs, const WrittenRequest& written,
                                       const ProfileOptions& options, Listener& listener);

}  // namespace opscope
