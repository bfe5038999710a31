// Graphviz as a library of its own, loaded when a graph is drawn: it would cost every start of the program
// more than most of its answers do. See report/svg/pictures.cc.
#include "report/svg/pictures.h"

#include <fcntl.h>
#include <gvc.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#ifdef OPSCOPE_OWN_GRAPHVIZ
extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;
#endif

namespace {

using opscope::Box;
using opscope::Placement;
using opscope::Point;

// Graphviz keeps its state in globals.
std::mutex one_at_a_time;

std::string graphviz_said;
int note_error(char* text) {
  graphviz_said += text;
  return 0;
}

std::string taken_error(const char* otherwise) {
  std::string text = graphviz_said.empty() ? otherwise : graphviz_said;
  graphviz_said.clear();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The number in "n12" or "cluster_12".
std::size_t number_in(const char* name) {
  return static_cast<std::size_t>(std::strtoul(name + std::strcspn(name, "0123456789"), nullptr, 10));
}

template <class T>
T& at(std::vector<T>& items, std::size_t index) {
  if (items.size() <= index) items.resize(index + 1);
  return items[index];
}

// Graphviz counts y from the bottom.
struct Reader {
  Placement& result;
  boxf page;

  Point point(pointf p) const { return {p.x - page.LL.x, page.UR.y - p.y}; }

  void read_edge(Agedge_t* edge) const {
    const char* name = agget(edge, const_cast<char*>("id"));
    if (!name || !*name) return;
    auto& points = at(result.edges, number_in(name));
    const splines* curves = ED_spl(edge);
    if (!curves || curves->size == 0) return;
    const bezier& curve = curves->list[0];
    for (decltype(curve.size + 0) i = 0; i < curve.size; ++i) points.push_back(point(curve.list[i]));
    if (curve.sflag) points.front() = point(curve.sp);
    if (curve.eflag) points.back() = point(curve.ep);
  }

  void read_clusters(Agraph_t* graph) const {
    for (int i = 1; i <= GD_n_cluster(graph); ++i) {
      Agraph_t* cluster = GD_clust(graph)[i];
      const boxf box = GD_bb(cluster);
      const Point corner = point({box.LL.x, box.UR.y});
      at(result.clusters, number_in(agnameof(cluster))) = {corner.x, corner.y, box.UR.x - box.LL.x,
                                                           box.UR.y - box.LL.y};
      read_clusters(cluster);
    }
  }

  void read(Agraph_t* graph) const {
    result.width = page.UR.x - page.LL.x;
    result.height = page.UR.y - page.LL.y;
    for (Agnode_t* node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
      at(result.nodes, number_in(agnameof(node))) =
          Box::around(point(ND_coord(node)), ND_lw(node) + ND_rw(node), ND_ht(node));
      for (Agedge_t* edge = agfstout(graph, node); edge; edge = agnxtout(graph, edge)) read_edge(edge);
    }
    read_clusters(graph);
  }
};

void place_graph(GVC_t* context, const std::string& dot, Placement& result, std::string& problem) {
  Agraph_t* graph = agmemread(dot.c_str());
  if (!graph) {
    problem = taken_error("its text is not understood");
    return;
  }
  if (gvLayout(context, graph, "dot") == 0) {
    Reader{result, GD_bb(graph)}.read(graph);
    gvFreeLayout(context, graph);
  } else {
    problem = taken_error("its layout failed");
  }
  agclose(graph);
}

// A placement as bytes: what one process tells another.
class Wire {
 public:
  explicit Wire(std::string bytes = {}) : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }

  template <class T>
  void put(const T& item) {
    bytes_.append(reinterpret_cast<const char*>(&item), sizeof item);
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(items.size());
    for (const T& item : items) put(item);
  }
  template <class T>
  void take(T& item) {
    is_whole_ = is_whole_ && bytes_.size() - at_ >= sizeof item;
    if (is_whole_) std::memcpy(&item, bytes_.data() + std::exchange(at_, at_ + sizeof item), sizeof item);
  }
  template <class T>
  void take(std::vector<T>& items) {
    std::size_t size = 0;
    take(size);
    is_whole_ = is_whole_ && size <= bytes_.size();
    if (is_whole_) items.resize(size);
    for (T& item : items) take(item);
  }
  std::string rest() const { return bytes_.substr(at_); }
  bool is_whole() const { return is_whole_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  bool is_whole_ = true;
};

void put_placement(Wire& wire, const Placement& placed) {
  wire.put(placed.width), wire.put(placed.height);
  wire.put(placed.nodes), wire.put(placed.clusters), wire.put(placed.edges);
}
void take_placement(Wire& wire, Placement& placed) {
  wire.take(placed.width), wire.take(placed.height);
  wire.take(placed.nodes), wire.take(placed.clusters), wire.take(placed.edges);
}

constexpr std::chrono::seconds kPatience{20};

// All that comes until the other end closes; nothing where that takes too long.
std::optional<std::string> read_all(int from) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string bytes;
  char buffer[1 << 16];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{from, POLLIN, 0};
    const int found = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (found == 0) return std::nullopt;
    const ssize_t size = found < 0 ? -1 : ::read(from, buffer, sizeof buffer);
    if (size == 0) return bytes;
    if (size > 0)
      bytes.append(buffer, static_cast<std::size_t>(size));
    else if (errno != EINTR)
      return bytes;
  }
}

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(to, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
}

[[noreturn]] void place_in_child(int to, GVC_t* context, const std::string& dot) {
  Placement placed;
  std::string problem;
  place_graph(context, dot, placed, problem);
  Wire wire;
  wire.put(problem.empty());
  if (problem.empty()) put_placement(wire, placed);
  write_all(to, wire.bytes() + problem);
  ::_exit(0);
}

// dot keeps counters in globals that wrap, and crashes in a process that has laid out a few hundred graphs.
// So each layout is made in a child, whose state is as new: what goes wrong there is an error here and
// nothing worse.
void place_apart(GVC_t* context, const std::string& dot, Placement& result, std::string& problem) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    problem = std::strerror(errno);
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) place_in_child(ends[1], context, dot);
  ::close(ends[1]);
  const auto bytes = child > 0 ? read_all(ends[0]) : std::string();
  ::close(ends[0]);
  if (!bytes) ::kill(child, SIGKILL);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  Wire wire(bytes.value_or(""));
  bool is_placed = false;
  wire.take(is_placed);
  if (is_placed) take_placement(wire, result);
  if (!wire.is_whole())
    problem = bytes ? "it crashed" : "it took longer than 20 seconds";
  else if (!is_placed)
    problem = wire.rest();
}

// A Graphviz that is linked in has its layout with it; the system's finds it among its plugins.
GVC_t* make_context() {
#ifdef OPSCOPE_OWN_GRAPHVIZ
  static lt_symlist_t builtins[] = {{"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
                                    {nullptr, nullptr}};
  return gvContextPlugins(builtins, 0);
#else
  return gvContext();
#endif
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void opscope_place(const std::string& dot, Placement& result,
                                                          std::string& problem) {
  const std::scoped_lock lock(one_at_a_time);
  agseterr(AGERR);
  agseterrf(note_error);
  static GVC_t* const context = make_context();
  place_apart(context, dot, result, problem);
}

}  // extern "C"
