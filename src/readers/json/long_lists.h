// The long lists of a document that has each item on lines of its own, as ours have, cut out of its text and
// parsed a stretch of lines at a time. The parser's index over a whole file would be as large as the file;
// over a stretch it stays in the cache. Any other layout is read whole, with the same result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "readers/json/access.h"

namespace opscope::json {

class LongLists {
 public:
  // The text outlives this, and has `readable` bytes from its begin on that may be read.
  LongLists(std::string_view text, std::size_t readable);

  // The document with the cut lists empty, followed by simdjson's padding.
  simdjson::padded_string_view rest() const { return simdjson::padded_string_view(rest_, readable_); }

  // The items of a list of the document's object; place.section is its key.
  template <class Visit>
  void each_item(Place& place, value list, Visit visit) {
    const std::string_view lines = taken(place.section);
    json::each_item(place, list, visit);
    if (lines.empty()) return;
    place.item = 0;
    for (Stretches stretches{lines}; stretches.next();) {
      simdjson::ondemand::document document;
      if (const auto code = parser_.iterate(stretches.text()).get(document)) fail(place, code, "an array");
      each(place, take(place, document.get_array(), "an array"), [&](value item) {
        visit(item);
        ++place.item;
      });
      if (!at_end(document)) fail(place, "there is more behind the end of an array");
    }
    place.item = Place::kNoItem;
  }

 private:
  struct List {
    std::string_view key, lines;
  };
  // The lines of a list some at a time, each time as an array.
  class Stretches {
   public:
    explicit Stretches(std::string_view lines) : left_(lines) {}
    bool next();
    simdjson::padded_string_view text() const {
      return simdjson::padded_string_view(array_, array_.capacity());
    }

   private:
    std::string_view left_;
    std::string array_;
  };

  std::string_view taken(std::string_view key);

  std::vector<List> lists_;  // not yet read
  std::string shortened_;
  std::string_view rest_;
  std::size_t readable_;
  simdjson::ondemand::parser parser_;
};

}  // namespace opscope::json
