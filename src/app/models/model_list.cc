// Lists come from Python once and then from the cache; costs from the captures that the cache has. git is
// asked with rev-parse, cat-file, ls-files and archive, none of which writes to the repository.
#include "app/models/model_list.h"

#include <fnmatch.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "analyse/profile/profile.h"
#include "base/error.h"
#include "base/files.h"

namespace opscope {
namespace {

// Changes with the libraries: what failed under another version may work under this one.
std::string stamp_of(const std::vector<Dependency>& files) {
  std::string stamp;
  for (const Dependency& file : files) stamp += std::to_string(file.modified_ns) + " ";
  return stamp;
}

std::string letters_and_digits(const std::string& text) {
  std::string kept;
  for (const unsigned char c : text)
    if (std::isalnum(c) != 0) kept += static_cast<char>(std::tolower(c));
  return kept;
}

KnownCost cost_of(const Graph& graph) {
  const Profile profile = make_profile(graph, {});
  return {profile.parameters.total, profile.totals.work.macs, profile.totals.flops, graph.capture.tracer};
}

// Prefixes of specs, and the libraries that they stand for.
struct Library {
  std::string_view prefix, name;
};
constexpr std::array kLibraries{Library{"torchvision", "torchvision"}, Library{"timm", "timm"},
                                Library{"hf", "transformers"}, Library{"yolo", "ultralytics"}};

std::vector<std::string> matching(const std::string& spec, const std::vector<ModelStatus>& models) {
  const std::size_t colon = spec.find(':');
  const auto known = std::ranges::find(kLibraries, spec.substr(0, colon), &Library::prefix);
  const bool insists = colon != std::string::npos && known != kLibraries.end();  // on a library
  const std::string prefix = insists ? spec.substr(0, colon + 1) : "", pattern = spec.substr(prefix.size());
  std::vector<std::string> found;
  for (const ModelStatus& status : models)
    if (status.model.source.starts_with(insists ? known->name : "") &&
        matches_name(pattern, status.model.name))
      found.push_back(prefix + status.model.name);
  return found;
}

namespace fs = std::filesystem;

// "main:src/net.py:make"
struct RevisionSpec {
  std::string revision;  // "main"
  std::string file;      // "src/net.py"
  std::string function;  // ":make", with its colon; "" where there is none
};

// nullopt for what names no revision.
std::optional<RevisionSpec> revision_in(const std::string& spec) {
  const auto colon = spec.find(':');
  if (colon == 0 || colon == std::string::npos) return std::nullopt;
  const std::string first = spec.substr(0, colon), rest = spec.substr(colon + 1);
  if (first.ends_with(".py") || file_stamp(spec)) return std::nullopt;
  const auto second = rest.find(':');
  const std::string file = rest.substr(0, second);
  if (!file.ends_with(".py")) return std::nullopt;
  return RevisionSpec{first, file, second == std::string::npos ? "" : rest.substr(second)};
}

struct Told {
  int code = 0;
  std::string out, err;
  std::string complaint() const { return err.substr(0, err.find('\n')); }  // the first line of it
};

struct Git {
  std::string folder, stderr_path;

  Told run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "git", "-C", folder});
    return told(arguments);
  }
  Told told(const std::vector<std::string>& command) const {
    Told told;
    ChildProcess child(command, stderr_path);
    const auto on_line = [&](std::string_view line) {
      told.out.append(told.out.empty() ? "" : "\n").append(line);
      return false;
    };
    child.read_until(on_line, [] {});
    const int status = child.wait();
    told.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    told.err = read_file(stderr_path);
    return told;
  }
};

// The folder that the file is in, or would be.
std::string folder_for(const std::string& file) {
  const fs::path parent = fs::path(file).is_absolute() ? fs::path(file).parent_path() : fs::current_path();
  return file_stamp(parent.string()) ? parent.string() : fs::current_path().string();
}

std::string find_root(const Git& git, const RevisionSpec& spec) {
  const Told top = git.run({"rev-parse", "--show-toplevel"});
  if (top.code == 127) throw Error("git is not installed, and a revision is asked for", spec.revision);
  if (top.code != 0)
    throw Error("not in a git repository, so there is no revision '" + spec.revision + "'", spec.file,
                "call opscope in the repository, or name the other version's file or capture");
  return top.out;
}

std::string find_commit(const Git& git, const RevisionSpec& spec) {
  const Told commit =
      git.run({"rev-parse", "--verify", "--quiet", "--end-of-options", spec.revision + "^{commit}"});
  if (commit.code == 0) return commit.out;
  const bool empty = git.run({"rev-parse", "--verify", "--quiet", "HEAD"}).code != 0;
  throw Error(
      "no revision '" + spec.revision + "' in this repository", spec.revision + ":" + spec.file,
      empty ? "nothing is committed yet" : "git log --oneline and git branch -a show those there are");
}

// The file's path from the repository's root: seen from here, as people mean it, else from the root, as git
// does.
std::string find_file(const Git& git, const RevisionSpec& spec, const std::string& root,
                      const std::string& commit) {
  const fs::path here = fs::weakly_canonical(fs::current_path());
  std::error_code failed;  // a name that is too long for a file is none's
  const fs::path seen = fs::weakly_canonical(
      fs::path(spec.file).is_absolute() ? fs::path(spec.file) : here / spec.file, failed);
  const std::string from_here = seen.lexically_relative(fs::weakly_canonical(root)).generic_string();
  const std::string from_root = fs::path(spec.file).lexically_normal().generic_string();
  for (const std::string& path : {from_here, from_root}) {
    if (path.empty() || path.starts_with("..") || fs::path(path).is_absolute()) continue;
    if (git.run({"cat-file", "-e", commit + ":" + path}).code == 0) return path;
  }
  const bool is_there = file_stamp(seen.string()).has_value();
  const bool known = is_there && git.run({"ls-files", "--error-unmatch", "--", seen.string()}).code == 0;
  throw Error("no file '" + spec.file + "' at revision " + spec.revision, spec.revision + ":" + spec.file,
              !is_there ? "git ls-tree -r --name-only " + spec.revision + " shows the files it has"
              : known   ? "it came with a later commit: git log -- " + spec.file + " shows which"
                        : "it is not committed: git add and commit it, or name the file alone");
}

// The tree of a revision, until it goes. Throws Error where there is no repository, revision or file.
struct RevisionTree {
  explicit RevisionTree(const RevisionSpec& spec) : root(temporary.file("tree")) {
    const Git git{folder_for(spec.file), temporary.file("stderr")};
    const std::string top = find_root(git, spec), commit = find_commit(git, spec);
    const std::string path = find_file(git, spec, top, commit);
    fs::create_directory(root);
    const std::string archive = temporary.file("tree.tar");
    const Git at_top{top, temporary.file("stderr")};
    if (const Told made = at_top.run({"archive", "--format=tar", "-o", archive, commit}); made.code != 0)
      throw Error("git could not give the tree of " + spec.revision + ": " + made.complaint(), spec.file);
    if (const Told out = at_top.told({"/usr/bin/env", "tar", "-x", "-f", archive, "-C", root}); out.code != 0)
      throw Error("tar could not unpack the tree of " + spec.revision + ": " + out.complaint(), spec.file);
    fs::remove(archive);
    model = root + "/" + path + spec.function;
    const fs::path here =
        fs::weakly_canonical(fs::current_path()).lexically_relative(fs::weakly_canonical(top));
    const fs::path same = fs::path(root) / here;
    const bool inside = !here.empty() && *here.begin() != ".." && fs::is_directory(same);
    folder = inside ? same.lexically_normal().string() : root;
  }

  TemporaryFolder temporary;
  std::string root;
  std::string folder;  // that stands for the one opscope was called in
  std::string model;   // "/tmp/.../net.py:make"
};

// What opscope says of files in the tree, by the names that the user has for them.
std::string told_of(const std::string& text, const RevisionTree& tree, const std::string& revision) {
  std::string out = text;
  for (const std::string& path : {tree.root + "/", tree.root})
    for (std::size_t at = out.find(path); at != std::string::npos; at = out.find(path))
      out.replace(at, path.size(), revision + ":");
  return out;
}

// The process is in another folder for a while: Python finds modules from there.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

LoadedModel load_revision(const RevisionSpec& revision, const std::string& spec, WrittenRequest written,
                          const ProfileOptions& options, Listener& listener) {
  const RevisionTree tree(revision);
  written.no_cache = true;  // the folder is gone after this
  const InFolder in_tree(tree.folder);
  try {
    LoadedModel model = std::move(load_models({tree.model}, written, options, listener).front());
    model.spec = model.label = spec;
    model.figures.source = told_of(model.figures.source, tree, revision.revision);
    if (model.graph) model.graph->capture.source = model.figures.source;
    return model;
  } catch (const Error& error) {
    const auto as_told = [&](const std::string& text) { return told_of(text, tree, revision.revision); };
    throw Error(as_told(error.what()), as_told(error.where()), as_told(error.hint()));
  }
}

}  // namespace

bool matches_name(const std::string& pattern, const std::string& name) {
  if (pattern.find_first_of("*?[") != std::string::npos)
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  return letters_and_digits(name).find(letters_and_digits(pattern)) != std::string::npos;
}

ModelCatalogue::ModelCatalogue(std::string registry, bool use_cache, Listener& listener)
    : registry_(std::move(registry)), cache_(use_cache, listener), listener_(listener) {}

std::vector<ModelStatus> ModelCatalogue::list(bool only_cached) {
  const CaptureRequest request = request_for("");
  const std::string key = cache_.key(request, "list");
  auto found = cached_answer(cache_, key, parse_model_list, &ModelList::dependencies);
  if (!found && only_cached) return {};
  if (!found) {
    PythonWorker worker(listener_, cache_.python());
    worker.run(request, "list");
    const std::string bytes = worker.output();
    found = parse_model_list(bytes, "list of models");
    if (worker.may_be_cached()) cache_.write(key, bytes);
  }
  stamp_ = stamp_of(found->dependencies);
  std::vector<ModelStatus> models;
  for (ListedModel& model : found->models) models.push_back({std::move(model), std::nullopt, ""});
  return models;
}

CaptureRequest ModelCatalogue::request_for(const std::string& model) const {
  CaptureRequest request;
  request.model = model;
  request.registry = registry_;
  return request;
}

std::string ModelCatalogue::failure_key(const ListedModel& model) const {
  return cache_.key(request_for(model.name), "failed",
                    [&](JsonWriter& json) { json.field("stamp", stamp_); });
}

void ModelCatalogue::add_known_costs(std::vector<ModelStatus>& models) const {
  for (ModelStatus& status : models) {
    if (const auto graph = cached_model(request_for(status.model.name), cache_))
      status.cost = cost_of(*graph);
    else if (const auto why = cache_.read(failure_key(status.model)))
      status.failed = *why;
  }
}

void ModelCatalogue::profile(std::vector<ModelStatus>& models) const {
  std::vector<ModelStatus*> left;
  std::vector<CaptureRequest> requests;
  for (ModelStatus& status : models)
    if (!status.cost) left.push_back(&status), requests.push_back(request_for(status.model.name));
  const auto give = [&](std::size_t index, const std::shared_ptr<Graph>& graph, const ChildError& why) {
    ModelStatus& status = *left[index];
    status.failed = why.what;
    if (graph)
      status.cost = cost_of(*graph);
    else
      cache_.write(failure_key(status.model), why.what);
  };
  capture_many(requests, cache_, AfterDeath::kGoOn, listener_, give);
}

std::string library_called(const std::string& prefix) {
  const auto found = std::ranges::find(kLibraries, prefix, &Library::prefix);
  return found == kLibraries.end() ? prefix : std::string(found->name);
}

bool is_model_pattern(const std::string& spec) {
  std::error_code ignored;
  return spec.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(spec, ignored);
}

std::vector<std::string> expand_patterns(const std::vector<std::string>& specs, const WrittenRequest& written,
                                         Listener& listener) {
  if (std::ranges::none_of(specs, is_model_pattern)) return specs;
  ModelCatalogue catalogue(registry_path(written.text("registry")), !written.no_cache, listener);
  const std::vector<ModelStatus> models = catalogue.list(false);
  std::vector<std::string> expanded;
  const auto add = [&](const std::string& spec) {
    if (std::ranges::find(expanded, spec) == expanded.end()) expanded.push_back(spec);
  };
  for (const std::string& spec : specs) {
    if (!is_model_pattern(spec)) {
      add(spec);
      continue;
    }
    const auto found = matching(spec, models);
    if (found.empty())
      throw Error("no model matches '" + spec + "'", "",
                  "opscope list shows them all; 'torchvision:resnet*' looks in one library");
    std::ranges::for_each(found, add);
  }
  return expanded;
}

std::string at_revision(const std::string& revision, const std::string& spec) {
  const std::string file = spec.substr(0, spec.find(':'));
  if (!file.ends_with(".py"))
    throw Error("only a file of code has revisions, and '" + spec + "' is none", "--base-rev",
                "for example --base-rev HEAD~1 model.py:build");
  return revision + ":" + spec;
}

std::vector<LoadedModel> load_versions(const std::vector<std::string>& specs, const WrittenRequest& written,
                                       const ProfileOptions& options, Listener& listener) {
  std::vector<std::string> plain;
  for (const std::string& spec : specs)
    if (!revision_in(spec)) plain.push_back(spec);
  std::vector<LoadedModel> loaded;
  if (!plain.empty()) loaded = load_models(plain, written, options, listener);
  std::vector<LoadedModel> models;
  std::size_t next = 0;
  for (const std::string& spec : specs) {
    if (const auto revision = revision_in(spec))
      models.push_back(load_revision(*revision, spec, written, options, listener));
    else
      models.push_back(std::move(loaded[next++]));
    // Beside a revision, a file is called by its path and not by what it builds.
    if (plain.size() < specs.size()) models.back().label = spec;
  }
  return models;
}

}  // namespace opscope
