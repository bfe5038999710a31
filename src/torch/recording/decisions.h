// Conditions on data that a capture met: where they are, how each was answered, and who said so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace opscope::engine {

class Decisions {
 public:
  // One place in the model's code where a condition is asked for.
  struct Site {
    std::string where;    // "/path/model.py:42"; "" where that is not known
    bool answer = false;  // the first
    bool given = false;   // by the user
    std::uint32_t times = 0;
    OpId first_op = 0;  // that follows the first answer
  };

  std::map<std::string, bool> given;          // by the user, "model.py:42"
  std::map<std::string, bool> tried;          // by whoever captures a model both ways, by Site::where
  std::unordered_set<std::uint32_t> flipped;  // answers, by number, that made the model raise

  std::uint32_t made() const { return made_; }
  const std::vector<Site>& sites() const { return sites_; }
  // What the user said of this line; nullptr: nothing.
  const bool* given_for(std::string_view where) const;
  // The answer where nobody knows better than `likely`.
  struct Answer {
    bool holds;
    const Site& site;
  };
  Answer answer(const std::string& where, bool likely, OpId next_op);
  // How often one place was asked before it is thought that a loop which it ends does not.
  bool is_endless(std::string_view where) const;

 private:
  Site& site(const std::string& where);

  std::uint32_t made_ = 0;
  std::vector<Site> sites_;
};

}  // namespace opscope::engine
