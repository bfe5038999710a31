// Loads cli/plugin/pictures.cc and cli/plugin/raster.cc, each at its first use.
#include "report/svg/pictures.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/choices.h"

namespace opscope {
namespace {

constexpr const char *kLayout = "opscope_pictures.so", *kRaster = "opscope_raster.so";

// In the order of PictureFormat.
using Words = std::array<std::string_view, 5>;
constexpr Words kNames{"png", "pdf", "svg", "dot", "html"}, kTitles{"PNG", "PDF", "SVG", "DOT", "HTML"};
constexpr Words kExtensions{".png", ".pdf", ".svg", ".dot", ".html"};

// A library that is loaded at its first use, and the function that is wanted of it. Functions give what went
// wrong in their last argument, or "".
template <class Function>
struct Plugin {
  Function function = nullptr;
  std::string problem{};  // of a library that is there and does not load
};
using Place = void (*)(const std::string& dot, Placement& result, std::string& problem);
using Convert = void (*)(PictureFormat format, std::string_view svg, std::string& result,
                         std::string& problem);

std::filesystem::path& added_folder() {
  static std::filesystem::path folder;
  return folder;
}

// A wheel keeps the plugins in the Python package and under lib/ beside bin/, a build folder beside the
// program and the Python module, which may be linked to from elsewhere.
std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> folders;
  if (!added_folder().empty()) folders.push_back(added_folder());
  std::error_code failed;
  Dl_info here{};
  // A program that was found on the PATH is called by its name alone, which would lead to the working folder.
  if (::dladdr(reinterpret_cast<const void*>(&added_folder), &here) && here.dli_fname &&
      here.dli_fname[0] == '/') {
    folders.push_back(std::filesystem::path(here.dli_fname).parent_path());
    folders.push_back(std::filesystem::canonical(here.dli_fname, failed).parent_path());
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    folders.push_back(self.parent_path());
    folders.push_back(self.parent_path() / "../lib/opscope");
  }
  return folders;
}

template <class Function>
Plugin<Function> load(const char* file, const char* symbol) {
  Plugin<Function> plugin;
  for (const auto& folder : places()) {
    const std::filesystem::path path = folder / file;
    std::error_code ignored;
    if (folder.empty() || !std::filesystem::exists(path, ignored)) continue;
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      plugin.problem = ::dlerror();
    else if ((plugin.function = reinterpret_cast<Function>(::dlsym(library, symbol))))
      return plugin;
  }
  return plugin;
}

const Plugin<Place>& layout() {
  static const auto plugin = load<Place>(kLayout, "opscope_place");
  return plugin;
}
const Plugin<Convert>& raster() {
  static const auto plugin = load<Convert>(kRaster, "opscope_convert");
  return plugin;
}

struct Needs {
  const char *file, *library, *package, *headers, *instead;
};
constexpr Needs kLayoutNeeds{kLayout, "Graphviz", "libgvc6", "libgraphviz-dev", "draw to a .dot file"};
constexpr Needs kRasterNeeds{kRaster, "librsvg", "librsvg2-2", "librsvg2-dev", "write an .svg file"};

template <class Function>
Function function_or_throw(const Plugin<Function>& plugin, const Needs& needs) {
  if (plugin.function) return plugin.function;
  if (!plugin.problem.empty())
    throw Error(fmt::format("{} is missing: {}", needs.library, plugin.problem), needs.file,
                fmt::format("install {} (Debian's name), or {}", needs.package, needs.instead));
  throw Error(fmt::format("this opscope was built without {}", needs.library), needs.file,
              fmt::format("install {} and build it again, or {}", needs.headers, needs.instead));
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

void add_picture_folder(const std::string& folder) { added_folder() = folder; }

bool graphs_can_be_drawn() { return layout().function != nullptr; }

void check_convertible(PictureFormat format) {
  if (format == PictureFormat::kPng || format == PictureFormat::kPdf)
    function_or_throw(raster(), kRasterNeeds);
}

Placement place(const std::string& dot) {
  Placement result;
  std::string problem;
  function_or_throw(layout(), kLayoutNeeds)(dot, result, problem);
  if (!problem.empty()) throw Error("Graphviz cannot lay the graph out: " + problem);
  return result;
}

std::string svg_to(PictureFormat format, std::string_view svg) {
  if (format == PictureFormat::kSvg) return std::string(svg);
  OPSCOPE_CHECK(format == PictureFormat::kPng || format == PictureFormat::kPdf);
  std::string result, problem;
  function_or_throw(raster(), kRasterNeeds)(format, svg, result, problem);
  if (!problem.empty())
    throw Error("cannot make a " + std::string(title(format)) + " of the drawing: " + problem, "",
                "an .svg file needs no converting");
  return result;
}

}  // namespace opscope
