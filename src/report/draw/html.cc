// A page to look around in: the drawing, what is known of each box as JSON, and the script of draw_script.cc,
// in one file that needs no network.
#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/draw/svg.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr std::size_t kMostNodes = 60, kMostFormulas = 3, kMostSubgraphs = 6;

class Data {
 public:
  Data(const Scene& scene, const Look& look, ColorBy color)
      : scene_(scene), look_(look), color_(color), profile_(*scene.view->profile), graph_(*profile_.graph) {}

  std::string run() {
    const PageTexts texts = page_texts(scene_, color_);
    json_.begin_object();
    json_.field("title", texts.title);
    json_.field("subtitle", texts.subtitle);
    write_rows("totals", texts.totals);
    json_.list("remarks", texts.remarks);
    json_.key("boxes");
    json_.begin_array();
    for (std::size_t b = 0; b < scene_.boxes.size(); ++b) write_box(scene_.boxes[b], look_.boxes[b]);
    json_.end_array();
    json_.key("edges");
    json_.begin_array();
    for (const SceneEdge& edge : scene_.edges) write_edge(edge);
    json_.end_array();
    json_.end_object();
    return std::move(out_);
  }

 private:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  void write_rows(std::string_view key, const Rows& rows) {
    json_.key(key);
    json_.begin_array(JsonLayout::kInline);
    for (const auto& [what, value] : rows) {
      json_.begin_array(JsonLayout::kInline);
      json_.value(what);
      json_.value(value);
      json_.end_array();
    }
    json_.end_array();
  }

  void write_edge(const SceneEdge& edge) {
    json_.begin_object(JsonLayout::kInline);
    json_.field("from", edge.from);
    json_.field("to", edge.to);
    json_.field("shape", shape_label(graph_, edge.value));
    json_.end_object();
  }

  void write_box(const SceneBox& box, const BoxLook& look) {
    json_.begin_object(JsonLayout::kInline);
    json_.field("name", box.name + (box.repeat > 1 ? " \u00d7" + std::to_string(box.repeat) : ""));
    json_.field("path", box.path);
    json_.field("type", joined_types(box, 12));
    const bool is_end = box.kind == BoxKind::kInput || box.kind == BoxKind::kOutput;
    json_.list("types", is_end ? std::vector<std::string>{} : box.types);  // the page's list of op types
    json_.field("bottleneck", look.bottleneck);
    write_rows("rows", rows_of(box));
    json_.list("subgraphs", subgraphs_of(box));
    json_.list("formulas", formulas_of(box));
    json_.list("nodes", nodes_of(box));
    json_.end_object();
  }

  Rows rows_of(const SceneBox& box) const {
    const Metrics &one = box.metrics, &all = box.all_metrics;
    Rows rows;
    const auto add = [&](const char* what, std::string value) {
      if (!value.empty()) rows.push_back({what, std::move(value)});
    };
    add("Path", box.path);
    add("Output", shape_text(graph_, box.output));
    if (!one.ops) return rows;
    add("FLOPs", flops_text(one) + " (" + format_exact(one.flops) + ")");
    add("Share", format_percent(all.flops, profile_.totals.flops) + " of FLOPs, " +
                     format_percent(all.memory_bytes(), profile_.totals.memory_bytes()) + " of bytes");
    add("MACs", format_exact(one.work.macs));
    add("Bytes", format_bytes(one.memory_bytes()) + ": " + format_bytes(one.traffic.input_bytes) + " read, " +
                     format_bytes(one.traffic.output_bytes) + " written, " +
                     format_bytes(one.traffic.weight_bytes) + " weights");
    add("FLOPs per byte", format_ratio(one.arithmetic_intensity()));
    if (one.counts()) add("Bound", std::string(name(bottleneck_of(one, profile_.options.ridge))));
    if (box.parameters.total) add("Parameters", format_exact(box.parameters.total));
    add("Ops", format_exact(Count{one.ops}));
    add("Confidence", std::string(name(one.confidence)));
    if (box.runs > 1) add("Runs", format_exact(Count{box.runs}));
    return rows;
  }

  // "12 conv+batch_norm+relu: begins at ..., ends at ...".
  std::vector<std::string> subgraphs_of(const SceneBox& box) const {
    std::vector<SubgraphId> ids;
    for (const OpId op : ops_of(box))
      if (const SubgraphId id = profile_.partition().of_op[op]; id != kNone) ids.push_back(id);
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    std::vector<std::string> lines;
    for (const SubgraphId id : ids) {
      if (lines.size() == kMostSubgraphs) {
        lines.push_back(std::to_string(ids.size() - kMostSubgraphs) + " more");
        break;
      }
      const Subgraph& s = profile_.partition().subgraphs[id];
      lines.push_back(std::to_string(id + 1) + "  " + std::string(s.type) +
                      ". Begins: " + std::string(explanation(s.begins)) +
                      ". Ends: " + std::string(explanation(s.ends)) + ".");
    }
    return lines;
  }

  std::vector<OpId> ops_of(const SceneBox& box) const {
    std::vector<OpId> ops;
    for (const std::uint32_t n : box.nodes) {
      const auto some = scene_.view->ops_of(scene_.view->nodes[n]);
      ops.insert(ops.end(), some.begin(), some.end());
    }
    return ops;
  }

  // Of the costliest ops.
  std::vector<std::string> formulas_of(const SceneBox& box) const {
    std::vector<OpId> ops = ops_of(box);
    const auto cost = [&](OpId op) { return profile_.costs[op].flops; };
    std::ranges::stable_sort(ops, [&](OpId a, OpId b) { return cost(a) > cost(b); });
    std::vector<std::string> texts;
    for (const OpId op : ops)
      if (texts.size() < kMostFormulas && cost(op)) texts.push_back(explain(graph_, op));
    return texts;
  }

  std::vector<std::string> nodes_of(const SceneBox& box) const {
    std::vector<std::string> names;
    for (const std::uint32_t n : box.nodes) {
      if (names.size() == kMostNodes) {
        names.push_back(std::to_string(box.nodes.size() - kMostNodes) + " more");
        break;
      }
      names.emplace_back(scene_.view->nodes[n].name);
    }
    return names;
  }

  const Scene& scene_;
  const Look& look_;
  ColorBy color_;
  const Profile& profile_;
  const Graph& graph_;
  std::string out_;
  JsonWriter json_{out_};
};

// A name cannot end the element that the data is in.
std::string inside_script(const std::string& json) {
  std::string out;
  for (const char c : json) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

std::string_view element_of(const std::string& svg) {
  const auto begin = svg.find("<svg");
  return begin == std::string::npos ? std::string_view(svg) : std::string_view(svg).substr(begin);
}

}  // namespace

std::string page_html(const Scene& scene, const Look& look, const Layout& layout, ColorBy color) {
  const std::string svg = page_svg(scene, look, layout, color);
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>";
  out += html_escaped(page_texts(scene, color).title) + "</title>\n<style>";
  out += kDrawStyle;
  out +=
      "</style>\n</head>\n<body>\n<header>\n"
      "<button id=\"fit\">Fit</button><button id=\"in\">+</button><button id=\"out\">&minus;</button>\n"
      "<input id=\"search\" type=\"search\" placeholder=\"Search\"><span id=\"found\"></span>\n"
      "<label><input id=\"bottlenecks\" type=\"checkbox\"> bottlenecks only</label>\n</header>\n"
      "<main><div id=\"stage\">";
  out += element_of(svg);
  out += "</div><aside id=\"panel\"></aside></main>\n<script type=\"application/json\" id=\"data\">";
  out += inside_script(Data(scene, look, color).run());
  out += "</script>\n<script>";
  out += kDrawScript;
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace opscope
