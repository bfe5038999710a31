// Loads cli/plugin/pictures.cc at its first use.
#include "report/svg/pictures.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>

#include "base/choices.h"

namespace opscope {
namespace {

constexpr const char* kPlugin = "opscope_pictures.so";

// In the order of PictureFormat.
using Words = std::array<std::string_view, 5>;
constexpr Words kNames{"png", "pdf", "svg", "dot", "html"}, kTitles{"PNG", "PDF", "SVG", "DOT", "HTML"};
constexpr Words kExtensions{".png", ".pdf", ".svg", ".dot", ".html"};

// Both give what went wrong, or "".
using Place = void (*)(const std::string& dot, Placement& result, std::string& problem);
using Convert = void (*)(PictureFormat format, std::string_view svg, std::string& result,
                         std::string& problem);

struct Plugin {
  Place place = nullptr;
  Convert convert = nullptr;
  std::string problem;

  bool works() const { return place && convert; }
};

// The folders of the program and of the library that this code is in: a wheel keeps the plugin in the Python
// package, an installation under lib/ beside bin/, a build folder beside the program.
std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> folders;
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&pictures_available), &here) && here.dli_fname)
    folders.push_back(std::filesystem::path(here.dli_fname).parent_path());
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(self.parent_path());
  for (std::size_t i = 0, count = folders.size(); i < count; ++i)
    folders.push_back(folders[i] / "../lib/opscope");
  return folders;
}

Plugin load() {
  Plugin plugin;
  for (const auto& folder : places()) {
    const std::filesystem::path path = folder / kPlugin;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      plugin.problem = ::dlerror();
      continue;
    }
    plugin.place = reinterpret_cast<Place>(::dlsym(library, "opscope_place"));
    plugin.convert = reinterpret_cast<Convert>(::dlsym(library, "opscope_convert"));
    if (plugin.works()) return plugin;
  }
  return plugin;
}

const Plugin& loaded() {
  static const Plugin plugin = load();
  return plugin;
}

const Plugin& plugin_or_throw() {
  const Plugin& plugin = loaded();
  if (plugin.works()) return plugin;
  if (!plugin.problem.empty())
    throw Error("a library that pictures need is missing: " + plugin.problem, kPlugin,
                "install libgvc6, librsvg2-2 and libcairo2, or draw to a .dot file");
  throw Error("this opscope was built without pictures", kPlugin,
              "install libgraphviz-dev and librsvg2-dev and build it again, or draw to a .dot file");
}

}  // namespace

std::string_view name(PictureFormat format) { return kNames[static_cast<std::size_t>(format)]; }
std::string_view title(PictureFormat format) { return kTitles[static_cast<std::size_t>(format)]; }

PictureFormat picture_format_from_name(std::string_view text) {
  if (const auto format = named(text, PictureFormat::kHtml)) return *format;
  throw Error("no picture format called '" + std::string(text) + "'", "--format", "one of " + one_of(kNames));
}

PictureFormat picture_format_from_extension(const std::string& path) {
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  const auto format = named(extension.empty() ? extension : extension.substr(1), PictureFormat::kHtml);
  if (format) return *format;
  throw Error(extension.empty() ? "the picture's name has no extension that says its format"
                                : "no picture format for '" + extension + "'",
              path, "end the name in " + one_of(kExtensions));
}

bool pictures_available() { return loaded().works(); }

Placement place(const std::string& dot) {
  Placement result;
  std::string problem;
  plugin_or_throw().place(dot, result, problem);
  if (!problem.empty()) throw Error("Graphviz cannot lay the graph out: " + problem);
  return result;
}

std::string svg_to(PictureFormat format, std::string_view svg) {
  if (format == PictureFormat::kSvg) return std::string(svg);
  OPSCOPE_CHECK(format == PictureFormat::kPng || format == PictureFormat::kPdf);
  std::string result, problem;
  plugin_or_throw().convert(format, svg, result, problem);
  if (!problem.empty())
    throw Error("cannot make a " + std::string(title(format)) + " of the drawing: " + problem, "",
                "an .svg file needs no converting");
  return result;
}

}  // namespace opscope
