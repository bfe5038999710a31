// `opscope cache`: what is kept between runs, how much of it, and until when.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/cache_contents.h"
#include "app/worker/terminal.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "metrics/unit.h"
#include "report/core/listing.h"

namespace opscope {
namespace {

struct CacheFlags {
  bool clear = false;
  std::string limit;
  OutputFlags output;
  TalkFlags talk;
};

Listing listing_of(const CacheContents& contents) {
  const auto count = [](std::uint64_t number) { return Listing::Item(Count{number}); };
  return {.name = "cache",
          .keys = {"folder", "entries", "bytes", "op_times_bytes", "limit_bytes"},
          .rows = {{contents.folder, count(contents.entries.size()),
                    count(CacheContents::bytes(contents.entries)),
                    count(CacheContents::bytes(contents.times)), contents.limit}},
          .rounded = true};
}

void say_removed(const std::vector<CacheFile>& files, const TalkFlags& talk) {
  if (!talk.quiet)
    remark("removed " + std::to_string(files.size()) + (files.size() == 1 ? " file, " : " files, ") +
           format_bytes(Count{CacheContents::bytes(files)}));
}

int run_cache(const CacheFlags& flags) {
  const Output output(flags.output);
  TextOptions text;
  output.set_style(text);
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
  output.write(to_format(listing_of(cache_contents()), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_cache(CLI::App& app) {
  const auto flags = std::make_shared<CacheFlags>();
  app.add_flag("--clear", flags->clear, "Remove all captures, lists of models and measured op times");
  app.add_option("--limit", flags->limit,
                 "Size limit, default 2GB: the least recently used captures and lists are removed. Kept for "
                 "later runs")
      ->type_name("SIZE");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_cache(*flags); };
}

}  // namespace opscope
