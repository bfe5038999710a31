// A page to look around in: the drawing, what is known of each box as JSON, and the script of draw_script.cc,
// in one file that needs no network.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/draw/layout.h"
#include "report/explore/explore.h"

namespace opscope {
namespace {

constexpr std::size_t kMostNodes = 60, kMostFormulas = 3, kMostSubgraphs = 6;

using Rows = std::vector<std::pair<std::string, std::string>>;

// The first of them, and how many more there are.
std::vector<std::string> limited(std::vector<std::string> lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  lines[most] = std::to_string(lines.size() - most) + " more";
  lines.resize(most + 1);
  return lines;
}

// What is known of the boxes.
struct Data {
  const Scene& scene;
  const Look& look;
  const Profile& profile = *scene.view->profile;
  const Graph& graph = *profile.graph;
  std::string out{};
  JsonWriter json{out};

  std::string run(const PageTexts& texts) {
    json.begin_object();
    json.field("title", texts.title);
    json.field("subtitle", texts.subtitle);
    write_pairs("totals", texts.totals);
    json.list("remarks", texts.remarks);
    json.objects("boxes", scene.boxes, [&](const SceneBox& box) {
      write_box(box, look.boxes[static_cast<std::size_t>(&box - scene.boxes.data())]);
    });
    json.objects("edges", scene.edges, [&](const SceneEdge& edge) {
      json.field("from", edge.from);
      json.field("to", edge.to);
      json.field("shape", shape_text(graph, edge.value));
    });
    json.end_object();
    return std::move(out);
  }

  void write_pairs(std::string_view key, const Rows& rows) {
    json.key(key);
    json.begin_array(JsonLayout::kInline);
    for (const auto& [what, value] : rows) json.list(std::array{what, value});
    json.end_array();
  }

  void write_box(const SceneBox& box, const BoxLook& box_look) {
    std::vector<OpId> ops;
    std::vector<std::string> names;
    for (const std::uint32_t n : box.nodes) {
      std::ranges::copy(scene.view->ops_of(scene.view->nodes[n]), std::back_inserter(ops));
      names.emplace_back(scene.view->nodes[n].name);
    }
    json.field("name", box.name + repeat_text(box.repeat));
    json.field("path", box.path);
    json.field("type", joined_types(box, 12));
    json.list("types", is_end(box) ? std::vector<std::string>{} : box.types);  // the page's list of op types
    json.field("bottleneck", box_look.bottleneck);
    write_pairs("rows", rows_of(box));
    json.list("subgraphs", limited(subgraph_texts(ops), kMostSubgraphs));
    json.list("formulas", formulas(ops));
    json.list("nodes", limited(std::move(names), kMostNodes));
  }

  Rows rows_of(const SceneBox& box) const {
    const Metrics &one = box.metrics, &all = box.all_metrics;
    Rows rows{{"Path", box.path}, {"Output", shape_text(graph, box.output)}};
    if (one.ops)
      rows.insert(
          rows.end(),
          {{"FLOPs", flops_text(one) + " (" + format_exact(one.flops) + ")"},
           {"Share", format_percent(all.flops, profile.totals.flops) + " of FLOPs, " +
                         format_percent(all.memory_bytes(), profile.totals.memory_bytes()) + " of bytes"},
           {"MACs", format_exact(one.work.macs)},
           {"Bytes",
            fmt::format("{}: {} read, {} written, {} weights", format_bytes(one.memory_bytes()),
                        format_bytes(one.traffic.input_bytes), format_bytes(one.traffic.output_bytes),
                        format_bytes(one.traffic.weight_bytes))},
           {"FLOPs per byte", format_ratio(one.arithmetic_intensity())},
           {"Bound", one.counts() ? std::string(name(bottleneck_of(one, profile.options.ridge))) : ""},
           {"Parameters", box.parameters.total ? format_exact(box.parameters.total) : ""},
           {"Ops", format_exact(Count{one.ops})},
           {"Confidence", std::string(name(one.confidence))},
           {"Runs", box.runs > 1 ? format_exact(Count{box.runs}) : ""}});
    std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
    return rows;
  }

  // "12 conv+batch_norm+relu. Begins: ... Ends: ...".
  std::vector<std::string> subgraph_texts(const std::vector<OpId>& ops) const {
    std::vector<std::string> lines;
    for (const SubgraphId id : subgraphs_of(profile.partition(), ops)) {
      const Subgraph& s = profile.partition().subgraphs[id];
      lines.push_back(fmt::format("{}  {}. Begins: {}. Ends: {}.", id + 1, s.type, explanation(s.begins),
                                  explanation(s.ends)));
    }
    return lines;
  }

  // Of the costliest ops.
  std::vector<std::string> formulas(std::vector<OpId> ops) const {
    const auto cost = [&](OpId op) { return profile.costs[op].flops; };
    std::ranges::stable_sort(ops, std::greater{}, cost);
    std::vector<std::string> texts;
    for (const OpId op : ops)
      if (texts.size() < kMostFormulas && cost(op)) texts.push_back(explain(graph, op));
    return texts;
  }
};

// A name cannot end the element that the data is in.
std::string inside_script(const std::string& json) {
  std::string out;
  for (const char c : json) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

}  // namespace

std::string page_html(const Scene& scene, const Look& look, const Layout& layout, ColorBy color) {
  const PageTexts texts = page_texts(scene, color);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<header>\n"
      "<button id=\"fit\">Fit</button><button id=\"in\">+</button><button id=\"out\">&minus;</button>\n"
      "<input id=\"search\" type=\"search\" placeholder=\"Search\"><span id=\"found\"></span>\n"
      "<label><input id=\"bottlenecks\" type=\"checkbox\"> bottlenecks only</label>\n</header>\n"
      "<main><div id=\"stage\">{}</div><aside id=\"panel\"></aside></main>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      html_escaped(texts.title), kDrawStyle, page_svg(scene, look, layout, color),
      inside_script(Data{scene, look}.run(texts)), kDrawScript);
}

}  // namespace opscope
