// `opscope cache`: what is kept between runs, how much of it, and until when.
#include "app/models/cache.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "cli/flags/flags.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "metrics/unit.h"
#include "report/core/document.h"

namespace opscope {
namespace {

struct CacheFlags : CommandFlags {
  bool clear = false;
  std::string limit;
};

Table table_of_cache(const CacheContents& contents) {
  const auto count = [](CellValue number) {
    return cell_of(std::move(number), Unit::kCount, Style::kPlain, Zero::kDigit);
  };
  Table table{{listed("folder"), listed("entries", Align::kRight), listed("bytes", Align::kRight),
               listed("op_times_bytes", Align::kRight), listed("limit_bytes", Align::kRight)},
              {},
              "cache"};
  table.add({contents.folder, count(contents.entries.size()), count(CacheContents::bytes(contents.entries)),
             count(CacheContents::bytes(contents.times)), count(contents.limit)});
  return table;
}

void say_removed(const std::vector<CacheFile>& files, const TalkFlags& talk) {
  if (!talk.quiet)
    remark("removed " + std::to_string(files.size()) + (files.size() == 1 ? " file, " : " files, ") +
           format_bytes(Count{CacheContents::bytes(files)}));
}

int run_cache(const CacheFlags& flags) {
  TextOptions text;
  const Output output(flags, text);
  const CacheContents contents = cache_contents();
  if (!flags.limit.empty()) {
    const Count limit = parse_bytes("--limit", flags.limit);
    set_cache_limit(contents, limit);
    if (!flags.clear) say_removed(remove_files(contents.entries, limit), flags.talk);
  }
  if (flags.clear) {
    std::vector<CacheFile> removed = remove_files(contents.entries);
    const std::vector<CacheFile> times = remove_files(contents.times);
    removed.insert(removed.end(), times.begin(), times.end());
    say_removed(removed, flags.talk);
  }
  output.write(to_format(table_of_cache(cache_contents()), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_cache(CLI::App& app) {
  const auto flags = std::make_shared<CacheFlags>();
  add_switch(app, "--clear", flags->clear, "Remove all captures, lists of models and measured op times");
  add_value(app, "--limit", flags->limit, "SIZE",
            "Size limit for this and later runs, default 2GB. The least recently used captures and lists are "
            "removed first");
  add_result_flags(app, *flags);
  return [flags] { return run_cache(*flags); };
}

}  // namespace opscope
