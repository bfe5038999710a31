// A page to look around in: the drawing, what is known of each box as JSON, and a script, in one file that
// needs no network.
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

constexpr std::string_view kStyle = R"css(
*{box-sizing:border-box}
body{margin:0;height:100vh;display:flex;flex-direction:column;font:13px/1.4 "DejaVu Sans",Verdana,sans-serif;color:#1f2430}
header{display:flex;gap:8px;align-items:center;flex-wrap:wrap;padding:6px 10px;border-bottom:1px solid #e4e7eb;background:#f6f7f9}
header button,header input[type=search]{font:inherit;padding:2px 9px;border:1px solid #c3c8d0;border-radius:4px;background:#fff}
header #found{color:#5c6370;min-width:5em}
main{flex:1;display:flex;min-height:0}
#stage{flex:1;min-width:0;cursor:grab;touch-action:none;background:#fff}
#stage.dragging{cursor:grabbing}
#stage svg{width:100%;height:100%;display:block}
aside{width:340px;overflow:auto;border-left:1px solid #e4e7eb;padding:10px 12px}
aside h2{font-size:15px;margin:0 0 2px;overflow-wrap:anywhere}
aside h3{font-size:12px;margin:12px 0 2px;color:#5c6370}
aside table{border-collapse:collapse;width:100%}
aside td{padding:1px 8px 1px 0;vertical-align:top;overflow-wrap:anywhere}
aside td:first-child{color:#5c6370;white-space:nowrap}
aside pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:2px 0;font:11px/1.35 "DejaVu Sans Mono",monospace}
aside a{color:#2f4a92;cursor:pointer;display:block}
aside .q{color:#5c6370}
aside label{display:block}
.box{cursor:pointer}
.box,.edge{transition:opacity .12s}
.dim{opacity:.15}
.edge.near path{stroke:#b3202e;stroke-width:2}
.edge.near polygon{fill:#b3202e}
.box.chosen>rect,.box.match>rect{stroke:#b3202e;stroke-width:3}
)css";

// Pan and zoom, details of a box, search, filters.
constexpr std::string_view kScript = R"js(
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const svg = document.querySelector("#stage svg");
  const stage = document.getElementById("stage");
  const panel = document.getElementById("panel");
  const groups = data.boxes.map((_, i) => document.getElementById("b" + i));
  const edges = [...svg.querySelectorAll(".edge")];
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let view = whole.slice();
  let chosen = -1;
  const off = new Set();  // types that are not checked

  const element = (tag, text, parent, name) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (name) e.className = name;
    if (parent) parent.append(e);
    return e;
  };

  // Pan and zoom: the viewBox is what is seen.
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  const scale = () => Math.min(stage.clientWidth / view[2], stage.clientHeight / view[3]);
  const at = (x, y) => {
    const r = stage.getBoundingClientRect(), s = scale();
    return [view[0] + (x - r.left - (r.width - view[2] * s) / 2) / s,
            view[1] + (y - r.top - (r.height - view[3] * s) / 2) / s];
  };
  const zoom = (by, x, y) => {
    const width = Math.min(Math.max(view[2] * by, whole[2] / 60), whole[2] * 4);
    const f = width / view[2];
    view = [x - (x - view[0]) * f, y - (y - view[1]) * f, width, view[3] * f];
    show();
  };
  const middle = () => [view[0] + view[2] / 2, view[1] + view[3] / 2];
  const fit = () => { view = whole.slice(); show(); };
  const goTo = (i) => {
    const b = groups[i].getBBox(), m = svg.getElementById("graph").transform.baseVal[0].matrix;
    const w = Math.min(whole[2], Math.max(b.width * 5, 700)), h = w * stage.clientHeight / stage.clientWidth;
    view = [b.x + m.e + b.width / 2 - w / 2, b.y + m.f + b.height / 2 - h / 2, w, h];
    show();
    choose(i);
  };

  let drag = null, moved = false;
  stage.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoom(Math.exp(Math.sign(e.deltaY) * 0.15), ...at(e.clientX, e.clientY));
  }, {passive: false});
  stage.addEventListener("pointerdown", (e) => { drag = [e.clientX, e.clientY]; moved = false; });
  addEventListener("pointermove", (e) => {
    if (!drag) return;
    const dx = e.clientX - drag[0], dy = e.clientY - drag[1];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    stage.classList.add("dragging");
    view[0] -= dx / scale();
    view[1] -= dy / scale();
    drag = [e.clientX, e.clientY];
    show();
  });
  addEventListener("pointerup", () => { drag = null; stage.classList.remove("dragging"); });

  // Which boxes are seen in full: those of checked types; over a box, it and its neighbours.
  const neighbours = (i) => {
    const near = new Set([i]);
    for (const e of data.edges) {
      if (e.from === i) near.add(e.to);
      if (e.to === i) near.add(e.from);
    }
    return near;
  };
  const typeShown = (i) => !data.boxes[i].types.length || data.boxes[i].types.some((t) => !off.has(t));
  const bottlenecksOnly = () => document.getElementById("bottlenecks").checked;
  const paint = (over = -1) => {
    const near = over >= 0 ? neighbours(over) : null;
    groups.forEach((g, i) => {
      const seen = typeShown(i) && (!bottlenecksOnly() || data.boxes[i].bottleneck) && (!near || near.has(i));
      g.classList.toggle("dim", !seen);
      g.classList.toggle("chosen", i === chosen);
    });
    for (const e of edges) {
      const mine = over >= 0 && (+e.dataset.from === over || +e.dataset.to === over);
      e.classList.toggle("near", mine);
      e.classList.toggle("dim", over >= 0 && !mine);
    }
  };
  groups.forEach((g, i) => {
    g.addEventListener("pointerenter", () => { if (!drag) paint(i); });
    g.addEventListener("pointerleave", () => paint());
    g.addEventListener("click", () => { if (!moved) choose(i); });
  });
  svg.addEventListener("click", (e) => { if (!moved && !e.target.closest(".box")) choose(-1); });

  // The panel: of the model, or of one box.
  const rows = (list) => {
    const table = element("table", undefined, panel);
    for (const [what, value] of list) {
      const row = element("tr", undefined, table);
      element("td", what, row);
      element("td", value, row);
    }
  };
  const links = (title, list) => {
    if (!list.length) return;
    element("h3", title, panel);
    for (const [box, shape] of list)
      element("a", data.boxes[box].path + (shape ? "  " + shape : ""), panel).onclick = () => goTo(box);
  };
  const showModel = () => {
    element("h2", data.title, panel);
    element("div", data.subtitle, panel, "q");
    rows(data.totals);
    element("h3", "Op types", panel);
    const types = new Map();
    for (const b of data.boxes) for (const t of b.types) types.set(t, (types.get(t) || 0) + 1);
    for (const [type, count] of [...types].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))) {
      const label = element("label", undefined, panel);
      const tick = element("input", undefined, label);
      tick.type = "checkbox";
      tick.checked = !off.has(type);
      tick.onchange = () => { tick.checked ? off.delete(type) : off.add(type); paint(); };
      label.append(" " + type + " (" + count + ")");
    }
    const flip = (on) => { off.clear(); if (!on) for (const t of types.keys()) off.add(t); choose(-1); };
    element("a", "all", panel).onclick = () => flip(true);
    element("a", "none", panel).onclick = () => flip(false);
    element("h3", "Keys", panel);
    element("div", "wheel or + and -: zoom, drag or arrows: move, 0: fit, /: search, Esc: back", panel, "q");
    for (const remark of data.remarks) element("div", remark, panel, "q");
  };
  const showBox = (b) => {
    element("h2", b.name, panel);
    element("div", b.type, panel, "q");
    rows(b.rows);
    links("Takes from", data.edges.filter((e) => e.to === chosen).map((e) => [e.from, e.shape]));
    links("Gives to", data.edges.filter((e) => e.from === chosen).map((e) => [e.to, e.shape]));
    if (b.subgraphs.length) element("h3", "Subgraphs", panel);
    for (const s of b.subgraphs) element("div", s, panel);
    if (b.formulas.length) element("h3", "Formulas", panel);
    for (const f of b.formulas) element("pre", f, panel);
    if (b.nodes.length > 1) element("h3", "Stands for", panel);
    if (b.nodes.length > 1) for (const n of b.nodes) element("div", n, panel, "q");
  };
  const choose = (i) => {
    chosen = i;
    panel.textContent = "";
    i < 0 ? showModel() : showBox(data.boxes[i]);
    paint();
  };

  // Search: Enter goes to the next one found.
  const search = document.getElementById("search"), found = document.getElementById("found");
  let matches = [], next = 0;
  search.addEventListener("input", () => {
    const text = search.value.toLowerCase();
    matches = [];
    data.boxes.forEach((b, i) => {
      const hit = text && [b.path, b.name, b.type, ...b.nodes].some((s) => s.toLowerCase().includes(text));
      groups[i].classList.toggle("match", Boolean(hit));
      if (hit) matches.push(i);
    });
    next = 0;
    found.textContent = text ? matches.length + " found" : "";
  });
  search.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && matches.length) goTo(matches[next++ % matches.length]);
    if (e.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); search.blur(); }
    e.stopPropagation();
  });

  const step = (dx, dy) => { view[0] += dx * view[2] / 8; view[1] += dy * view[3] / 8; show(); };
  const keys = {
    "+": () => zoom(0.8, ...middle()), "=": () => zoom(0.8, ...middle()), "-": () => zoom(1.25, ...middle()),
    "0": fit, "/": () => search.focus(), Escape: () => choose(-1),
    ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
  };
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  document.getElementById("in").onclick = keys["+"];
  document.getElementById("out").onclick = keys["-"];
  document.getElementById("fit").onclick = fit;
  document.getElementById("bottlenecks").onchange = () => paint();
  choose(-1);
})();
)js";

constexpr std::size_t kMostNodes = 60, kMostFormulas = 3, kMostSubgraphs = 6;

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
    json.fields("title", texts.title, "subtitle", texts.subtitle);
    write_pairs("totals", texts.totals);
    json.list("remarks", texts.remarks);
    json.objects("boxes", scene.boxes,
                 [&](const SceneBox& box) { write_box(box, look.boxes[index_in(scene.boxes, box)]); });
    json.objects("edges", scene.edges, [&](const SceneEdge& edge) {
      json.fields("from", edge.from, "to", edge.to, "shape", shape_text(graph, edge.value));
    });
    json.end_object();
    return std::move(out);
  }

  void write_pairs(std::string_view key, const TextPairs& rows) {
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
    json.fields("name", box.name + repeat_text(box.repeat), "path", box.path, "type", joined_types(box, 12));
    json.list("types", is_end(box) ? std::vector<std::string>{} : box.types);  // the page's list of op types
    json.field("bottleneck", box_look.bottleneck);
    write_pairs("rows", rows_of(box));
    json.list("subgraphs", limited(subgraph_texts(ops), kMostSubgraphs));
    json.list("formulas", formulas(ops));
    json.list("nodes", limited(std::move(names), kMostNodes));
  }

  TextPairs rows_of(const SceneBox& box) const {
    const Metrics &one = box.metrics, &all = box.all_metrics;
    TextPairs rows{{"Path", box.path}, {"Output", shape_text(graph, box.output)}};
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
      if (texts.size() < kMostFormulas && cost(op)) texts.push_back(explain(graph, op, profile.experts));
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
      html_escaped(texts.title), kStyle, page_svg(scene, look, layout, color),
      inside_script(Data{scene, look}.run(texts)), kScript);
}

}  // namespace opscope
