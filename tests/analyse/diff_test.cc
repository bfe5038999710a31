// Which part is which, what is told of it, and that everything adds up.
#include "analyse/diff/diff.h"

#include <gtest/gtest.h>

#include <random>

#include "analyse/diff_models.h"
#include "analyse/small_models.h"

namespace opscope {
namespace {

using test::block, test::diff_of, test::linear, test::Part, test::relu, test::sequence, test::Version;

// "+ layers.2", "~ head": what is not unchanged, by path now or then; modules that only hold others aside.
std::vector<std::string> told(const ModelDiff& diff) {
  std::vector<std::string> lines;
  for (const DiffNode& node : diff.nodes) {
    if (node.status == DiffStatus::kUnchanged) continue;
    if (node.status == DiffStatus::kAdded || node.status == DiffStatus::kRemoved)
      if (diff.nodes[node.parent].status == node.status) continue;
    lines.push_back(std::string(name(node.status)) + " " + diff.item(node).path);
  }
  return lines;
}

using Lines = std::vector<std::string>;

const DiffNode& node_at(const ModelDiff& diff, std::string_view path) {
  for (const DiffNode& node : diff.nodes)
    if (diff.item(node).path == path) return node;
  throw std::out_of_range(std::string(path));
}

void expect_sums(const ModelDiff& diff) {
  Amounts sum;
  for (const DiffNode& node : diff.nodes) sum += node.own;
  EXPECT_EQ(sum, diff.nodes[0].all);
  const auto of = [](const Figures& f) { return amounts_of(f.totals, f.parameters); };
  EXPECT_EQ(sum, of(diff.now) - of(diff.base));
  std::vector<int> base(diff.base_tree.items.size()), now(diff.new_tree.items.size());
  for (const DiffNode& node : diff.nodes) {
    if (node.base != kNone) ++base[node.base];
    if (node.now != kNone) ++now[node.now];
  }
  EXPECT_EQ(std::ranges::count(base, 1), std::ssize(base));
  EXPECT_EQ(std::ranges::count(now, 1), std::ssize(now));
  Amounts types;
  for (const TypeChange& type : diff.types) types += type.after - type.before;
  types.params = sum.params;
  EXPECT_EQ(types, sum);
}

TEST(Diff, EqualModelsAreTheSame) {
  const Version a(test::ResNet18::make()), b(test::ResNet18::make());
  const ModelDiff diff = diff_of(a, b);
  EXPECT_TRUE(diff.same());
  EXPECT_TRUE(told(diff).empty());
  EXPECT_EQ(diff.count(DiffStatus::kUnchanged), diff.nodes.size() - 16);  // root, stages, blocks, downsamples
  EXPECT_TRUE(make_outline(diff).empty());
  expect_sums(diff);
}

TEST(Diff, AnIndexThatShiftsIsOneAddition) {
  const Version a({sequence("layers", {linear("", 8), relu(""), linear("", 16), relu("")})});
  const Version b({sequence("layers", {linear("", 8), relu(""), relu(""), linear("", 16), relu("")})});
  const ModelDiff diff = diff_of(a, b);
  EXPECT_EQ(told(diff), (Lines{"added layers.2"}));
  EXPECT_EQ(diff.renumbered, (Lines{"layers.2..3 are now layers.3..4"}));
  expect_sums(diff);
}

TEST(Diff, OfEqualBlocksTheLastAreTheNewOnes) {
  const auto blocks = [](std::size_t n) {
    return Version(
        {sequence("layers", std::vector<Part>(n, block("", {linear("fc", 8), relu("act")}, true)))});
  };
  const auto a = blocks(3), b = blocks(5);
  EXPECT_EQ(told(diff_of(a, b)), (Lines{"added layers.3", "added layers.4"}));
  EXPECT_EQ(told(diff_of(b, a)), (Lines{"removed layers.3", "removed layers.4"}));
  const ModelDiff diff = diff_of(a, b);
  const auto rows = make_outline(diff);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].nodes.size(), 2U);
  EXPECT_EQ(outline_name(diff, rows[1], "layers"), "3..4");
}

TEST(Diff, SaysWhatChangedAndWhatFollows) {
  const Version a({linear("first", 8), relu("act"), linear("last", 4)});
  const Version b({linear("first", 32), relu("act"), linear("last", 4)});
  const ModelDiff diff = diff_of(a, b);
  EXPECT_EQ(told(diff), (Lines{"changed first", "changed act", "changed last"}));
  const DiffNode& first = node_at(diff, "first");
  ASSERT_FALSE(first.changes.empty());
  EXPECT_EQ(first.changes[0], (DetailChange{DetailKind::kSize, "out_features", "8", "32"}));
  EXPECT_FALSE(first.follows);
  EXPECT_TRUE(node_at(diff, "act").follows);
  EXPECT_TRUE(node_at(diff, "last").follows);
  EXPECT_EQ(node_at(diff, "last").changes[0].what, "in_features");
  EXPECT_EQ(first.own.macs, 2 * 8 * (32 - 8));
  EXPECT_EQ(first.own.params, 8 * (32 - 8) + (32 - 8));
  expect_sums(diff);
}

TEST(Diff, AnotherClassUnderTheSameNameIsAChangeOfType) {
  const Version a({linear("fc", 8), relu("act")}), b({linear("fc", 8), test::unknown("act")});
  const ModelDiff diff = diff_of(a, b);
  EXPECT_EQ(told(diff), (Lines{"changed act"}));
  EXPECT_EQ(node_at(diff, "act").changes[0], (DetailChange{DetailKind::kType, "type", "ReLU", "Strange"}));
  expect_sums(diff);
}

TEST(Diff, RenamedAndMovedAreNoCosts) {
  const Version a({linear("stem", 8), relu("act"), linear("head", 4)});
  const Version renamed({linear("entry", 8), relu("act"), linear("head", 4)});
  EXPECT_EQ(told(diff_of(a, renamed)), (Lines{"moved entry"}));
  EXPECT_EQ(diff_of(a, renamed).nodes[0].all, Amounts{});
  const Version inside({block("backbone", {linear("stem", 8), relu("act")}), linear("head", 4)});
  const ModelDiff diff = diff_of(a, inside);
  EXPECT_EQ(told(diff), (Lines{"added backbone", "moved backbone.stem", "moved backbone.act"}));
  EXPECT_EQ(diff.nodes[0].all, Amounts{});
  expect_sums(diff);
}

TEST(Diff, AModuleThatIsWrappedMovesWhole) {
  const auto plain = [] { return block("body", {linear("fc", 8), relu("act")}); };
  Part inner = plain(), wrap = block("body", {linear("gate", 2), linear("out", 8)});
  inner.name = "inner", wrap.type = "Wrap";
  wrap.parts.push_back(inner);
  const Version a({linear("stem", 8), plain()}), b({linear("stem", 8), wrap});
  const ModelDiff wrapped = diff_of(a, b), taken_off = diff_of(b, a);
  EXPECT_EQ(told(wrapped), (Lines{"added body", "moved body.inner"}));
  EXPECT_EQ(told(taken_off), (Lines{"removed body", "moved body"}));
  EXPECT_EQ(wrapped.count(DiffStatus::kMoved), 2U);
  expect_sums(wrapped);
  expect_sums(taken_off);
  // One layer too, as adapters do: fc -> fc.base
  const Version c({linear("fc", 8)}),
      d({block("fc", {linear("base", 8), linear("down", 2), linear("up", 8)})});
  EXPECT_EQ(told(diff_of(c, d)), (Lines{"added fc", "moved fc.base"}));
}

TEST(Diff, UnlikeModulesAreNotRenamed) {
  const Version a({linear("stem", 8), block("tower", {relu("a"), relu("b"), relu("c")})});
  const Version b({linear("stem", 8), block("neck", {linear("a", 4), linear("b", 4), relu("c")})});
  EXPECT_EQ(told(diff_of(a, b)), (Lines{"removed tower", "added neck"}));
  const Version alike({linear("stem", 8), block("trunk", {relu("a"), relu("b"), linear("d", 4)})});
  EXPECT_EQ(told(diff_of(a, alike)), (Lines{"moved trunk", "removed tower.c", "added trunk.d"}));
  const Version other({linear("stem", 8), test::unknown("tail")}), layer({linear("stem", 8), relu("act")});
  EXPECT_EQ(told(diff_of(layer, other)), (Lines{"removed act", "added tail"}));
}

TEST(Diff, SidesOfOneLabelAreToldApart) {
  const Version a({linear("fc", 8)});
  const ModelDiff diff = make_diff({"net", &a.figures, &a.profile}, {"net", &a.figures, &a.profile});
  EXPECT_EQ(diff.base_label, "net (base)");
  EXPECT_EQ(diff.new_label, "net (new)");
}

TEST(Diff, AModuleCalledOnceMoreIsOneChange) {
  const auto calls = [](int n) {
    GraphBuilder b("net", "Net");
    Tensor x = b.input({2, 8}, "x");
    for (int i = 0; i < n; ++i) {
      const auto call = b.call("fc", "Linear");
      const auto weight = b.parameter("weight", {8, 8});
      x = b.op("aten::linear", {{"input", x}, {"weight", weight}}, {{2, 8}});
    }
    return b.finish({x});
  };
  const Version once(calls(1)), twice(calls(2));
  const ModelDiff diff = diff_of(once, twice);
  const DiffNode& fc = node_at(diff, "fc");
  EXPECT_EQ(fc.changes, (std::vector<DetailChange>{{DetailKind::kAttribute, "calls", "1", "2"}}));
  EXPECT_EQ(fc.own.macs, 2 * 8 * 8);
  expect_sums(diff);
}

TEST(Diff, BlocksThatChangedAlikeAreOneRow) {
  const auto blocks = [](std::int64_t width) {
    return Version(
        {sequence("layers", std::vector<Part>(4, block("", {linear("up", width), linear("down", 8)})))});
  };
  const auto a = blocks(16), b = blocks(64);
  const ModelDiff diff = diff_of(a, b);
  const auto rows = make_outline(diff);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(outline_name(diff, rows[1], "layers"), "0..3");
  EXPECT_EQ(rows[1].nodes.size(), 4U);
  EXPECT_EQ(rows[1].amounts.flops * 4, diff.nodes[0].all.flops);
  EXPECT_EQ(make_outline(diff, {.fold = false}).size(), 13U);
}

TEST(Diff, SavedProfilesAreComparedByLayersAndModules) {
  const Version a({sequence("layers", {linear("", 8), relu("")}), linear("head", 4)});
  const Version b({sequence("layers", {linear("", 8), relu(""), relu("")}), linear("head", 6)});
  const ModelDiff diff = test::diff_of_figures(a, b);
  EXPECT_FALSE(diff.by_arguments);
  EXPECT_EQ(told(diff), (Lines{"added layers.2", "changed head"}));
  expect_sums(diff);
}

TEST(Diff, WeightsThatAreSharedAddUp) {
  const Version a(test::shared_and_unknown()), b({linear("shared", 10)}, 10);
  expect_sums(diff_of(a, b));
  expect_sums(diff_of(b, a));
  EXPECT_TRUE(diff_of(a, Version(test::shared_and_unknown())).same());
}

// Random models, and random edits of them.
class Edits {
 public:
  explicit Edits(unsigned seed) : random_(seed) {}

  std::vector<Part> model() {
    std::vector<Part> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(part("p" + std::to_string(i), 3));
    return parts;
  }
  void edit(std::vector<Part>& parts, bool numbered = false) {
    const std::size_t at = pick(parts.size());
    switch (pick(5)) {
      case 0:
        if (parts.size() > 1) parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at),
                     part("n" + std::to_string(serial_++), 2));
        break;
      case 2:
        if (parts[at].type == "Linear") parts[at].width = width();
        break;
      case 3:
        parts[at].name = "r" + std::to_string(serial_++);
        break;
      default:
        if (!parts[at].parts.empty()) edit(parts[at].parts, parts[at].type == "Sequential");
    }
    if (numbered)
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i].name = std::to_string(i);
  }

 private:
  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  std::int64_t width() { return std::int64_t{1} << pick(6); }
  Part part(std::string name, int depth) {
    const std::size_t kind = pick(depth > 0 ? 6 : 3);
    if (kind == 0) return relu(std::move(name));
    if (kind == 1 && pick(4) == 0) return test::unknown(std::move(name));
    if (kind <= 2) return linear(std::move(name), width());
    std::vector<Part> inner;
    for (std::size_t i = 0; i <= pick(4); ++i) inner.push_back(part("c" + std::to_string(i), depth - 1));
    if (kind == 3) return sequence(std::move(name), std::move(inner));
    return block(std::move(name), std::move(inner), pick(2) == 0);
  }

  std::mt19937 random_;
  int serial_ = 0;
};

// By parent: its rows, as often as each stands, and its own are its change.
void expect_outline_sums(const ModelDiff& diff) {
  const auto rows = make_outline(diff, {.depth = 100});
  Amounts top;
  for (const OutlineRow& row : rows)
    if (row.depth == 1)
      for (std::size_t i = 0; i < (row.follow ? 1 : row.nodes.size()); ++i) top += row.amounts;
  EXPECT_EQ(top, diff.nodes[0].all);
}

// What is marked as added only adds, what is marked as removed only takes.
void expect_marks_that_hold(const ModelDiff& diff) {
  for (const int depth : {1, 2, 100})
    for (const OutlineRow& row : make_outline(diff, {.depth = depth}))
      for (const std::int64_t amount : {row.amounts.params, row.amounts.macs, row.amounts.flops,
                                        row.amounts.memory_bytes, row.amounts.ops}) {
        EXPECT_TRUE(row.status != DiffStatus::kAdded || amount >= 0);
        EXPECT_TRUE(row.status != DiffStatus::kRemoved || amount <= 0);
      }
}

TEST(DiffProperty, ChangesAddUpToTheTotalsOnRandomEdits) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Edits edits(seed);
    std::vector<Part> parts = edits.model();
    const Version base(parts);
    for (unsigned i = 0; i <= seed % 5; ++i) edits.edit(parts);
    const Version now(parts);
    for (const ModelDiff& diff : {diff_of(base, now), test::diff_of_figures(base, now), diff_of(now, base)}) {
      expect_sums(diff);
      expect_outline_sums(diff);
      expect_marks_that_hold(diff);
    }
    EXPECT_TRUE(diff_of(now, Version(parts)).same());
  }
}

}  // namespace
}  // namespace opscope
