// The models there are, what is known of their costs, and profiling all of them in one Python process; and
// what stands for models in a command: patterns of names, and revisions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/models/models.h"

namespace opscope {

// What an earlier profile with the model's own inputs said.
struct KnownCost {
  Count params, macs, flops;
  std::string captured;  // "static" or "eager"
};

struct ModelStatus {
  ListedModel model;
  std::optional<KnownCost> cost;
  std::string failed;  // why it could not be profiled; "" where it could or was not tried
};

// Whether `pattern` is a part of the name, or all of it with * and ?. Case does not matter, nor do the marks
// between words: llama3 finds meta-llama/Llama-3.2-1B.
bool matches_name(const std::string& pattern, const std::string& name);

class ModelCatalogue {
 public:
  ModelCatalogue(std::string registry, bool use_cache, Listener& listener);

  // Every model's name. With only_cached, none where Python would have to be asked.
  std::vector<ModelStatus> list(bool only_cached);

  void add_known_costs(std::vector<ModelStatus>& models) const;
  // Captures those without a cost. An interrupt keeps what is done and is thrown on.
  void profile(std::vector<ModelStatus>& models) const;

 private:
  CaptureRequest request_for(const std::string& model) const;
  std::string failure_key(const ListedModel& model) const;

  std::string registry_, stamp_;
  Cache cache_;
  Listener& listener_;
};

// 'resnet*' among the models of a command, all that `opscope list` has by such a name: has *, ? or [, and is
// no file.
bool is_model_pattern(const std::string& spec);

// The library that a prefix of specs stands for, "transformers" of "hf"; what is no prefix stays.
std::string library_called(const std::string& prefix);

// Each pattern replaced by what matches it, in the order of the list; 'timm:resnet*' insists on a library.
// Throws Error where nothing does.
std::vector<std::string> expand_patterns(const std::vector<std::string>& specs, const WrittenRequest& written,
                                         Listener& listener);

// Models of earlier versions: `HEAD~1:model.py:build`. The revision's whole tree is put into a folder of its
// own, so that what the file imports is of that version too; the user's repository is only read.

// The same file at a revision: "model.py:build" -> "REV:model.py:build"; throws Error where it is no file of
// code.
std::string at_revision(const std::string& revision, const std::string& spec);

// As load_models, with revisions among the specs; each of these by a Python of its own, in its own tree.
std::vector<LoadedModel> load_versions(const std::vector<std::string>& specs, const WrittenRequest& written,
                                       const ProfileOptions& options, Listener& listener);

}  // namespace opscope
