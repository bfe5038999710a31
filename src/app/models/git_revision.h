// Models of earlier versions: `HEAD~1:model.py:build`. The revision's whole tree is put into a folder of its
// own, so that what the file imports is of that version too; the user's repository is only read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/models/models.h"
#include "app/worker/child_process.h"

namespace opscope {

// "main:src/net.py:make"
struct RevisionSpec {
  std::string revision;  // "main"
  std::string file;      // "src/net.py"
  std::string function;  // ":make", with its colon; "" where there is none
};
// nullopt for what names no revision.
std::optional<RevisionSpec> revision_in(const std::string& spec);
// The same file at a revision: "model.py:build" -> "REV:model.py:build"; throws Error where it is no file of
// code.
std::string at_revision(const std::string& revision, const std::string& spec);

// The tree of a revision, until it goes. Throws Error where there is no repository, revision or file.
struct RevisionTree {
  explicit RevisionTree(const RevisionSpec& spec);

  TemporaryFolder temporary;
  std::string root;
  std::string folder;  // that stands for the one opscope was called in
  std::string model;   // "/tmp/.../net.py:make"
};

// As load_models, with revisions among the specs; each of these by a Python of its own, in its own tree.
std::vector<LoadedModel> load_versions(const std::vector<std::string>& specs, const WrittenRequest& written,
                                       const ProfileOptions& options, Listener& listener);

}  // namespace opscope
