// Einsum as PyTorch runs it: operands pair by pair, along `path` or from the left; a pair that shares summed
// labels is one batched product, one that shares none is a plain multiply. Labels are numbered: 0-51 the
// letters, 52-63 the dimensions of an ellipsis, aligned at the right.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "ops/rules.h"

namespace opscope {
namespace {

constexpr std::size_t kLetters = 52, kLabels = 64;
constexpr std::size_t kMostOperands = 64;  // more is not a model's equation; contracting is quadratic in them
using Sizes = std::array<std::int64_t, kLabels>;  // 1 where the operand has no such label
using LabelSet = std::uint64_t;

struct Equation {
  std::vector<Sizes> operands;
  std::vector<LabelSet> labels;  // of each operand
  LabelSet output = 0;
  Sizes size{};  // of each label, broadcast
};

struct Contraction {  // z batches of [m,k] by [k,n]; k == 0: nothing is summed
  Count z = 1, m = 1, k = 1, n = 1;
  bool sums = false;
};

constexpr LabelSet bit(std::size_t label) { return LabelSet{1} << label; }
constexpr bool has(LabelSet set, std::size_t label) { return (set & bit(label)) != 0; }

int letter(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return -1;
}

// The labels of one term in order; `rank` says how many dimensions an ellipsis stands for.
std::optional<std::vector<std::size_t>> parse_term(std::string_view term, std::size_t rank) {
  const auto letters = static_cast<std::size_t>(
      std::count_if(term.begin(), term.end(), [](char c) { return letter(c) >= 0; }));
  const std::size_t hidden = rank >= letters ? rank - letters : 0;
  if (hidden > kLabels - kLetters) return std::nullopt;
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i, 3) == "...") {
      for (std::size_t k = kLabels - hidden; k < kLabels; ++k) labels.push_back(k);
      i += 2;
    } else if (letter(term[i]) >= 0) {
      labels.push_back(static_cast<std::size_t>(letter(term[i])));
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

bool add_operand(Equation& equation, std::string_view term, const TensorView& tensor) {
  const auto labels = parse_term(term, tensor.rank());
  if (!labels || labels->size() != tensor.rank()) return false;
  Sizes sizes;
  sizes.fill(1);
  LabelSet set = 0;
  for (std::size_t i = 0; i < labels->size(); ++i) {
    const std::size_t label = (*labels)[i];
    const std::int64_t size = tensor.shape[i];
    std::int64_t& common = equation.size[label];
    if (common != 1 && size != 1 && common != size) return false;
    if (size != 1) common = size;
    sizes[label] = size;
    set |= bit(label);
  }
  equation.operands.push_back(sizes);
  equation.labels.push_back(set);
  return true;
}

// Without "->": the ellipsis, and the letters that occur once.
LabelSet implicit_output(std::string_view inputs) {
  LabelSet once = 0, often = 0;
  for (const char c : inputs)
    if (const int label = letter(c); label >= 0)
      (has(once, static_cast<std::size_t>(label)) ? often : once) |= bit(static_cast<std::size_t>(label));
  return (once & ~often) | ~(bit(kLetters) - 1);
}

std::optional<Equation> parse(const OpCall& call) {
  const std::string_view text = call.string("equation");
  const auto tensors = call.tensors("tensors");
  const auto arrow = text.find("->");
  std::string_view inputs = text.substr(0, arrow);
  if (tensors.empty() || tensors.size() > kMostOperands || text.empty()) return std::nullopt;
  Equation equation;
  equation.size.fill(1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto comma = inputs.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == tensors.size())) return std::nullopt;
    if (!add_operand(equation, inputs.substr(0, comma), tensors[i])) return std::nullopt;
    if (comma != std::string_view::npos) inputs.remove_prefix(comma + 1);
  }
  if (arrow == std::string_view::npos) {
    equation.output = implicit_output(text);
    return equation;
  }
  const auto output = parse_term(text.substr(arrow + 2), 0);
  if (!output) return std::nullopt;
  for (const std::size_t label : *output) equation.output |= bit(label);
  if (text.find("...", arrow) != std::string_view::npos) equation.output |= ~(bit(kLetters) - 1);
  return equation;
}

Count elements(const Sizes& sizes) {
  Count product = 1;
  for (const std::int64_t size : sizes) product *= Count{size};
  return product;
}

// Runs the equation, handing each pair to `on_pair` and each stand-alone sum's flops to `on_sum`.
template <class OnPair, class OnSum>
void run(Equation equation, std::span<const std::int64_t> path, OnPair on_pair, OnSum on_sum) {
  auto& operands = equation.operands;
  std::array<std::size_t, kLabels> users{};  // operands in which the label is wider than one
  for (const Sizes& sizes : operands)
    for (std::size_t l = 0; l < kLabels; ++l) users[l] += sizes[l] != 1;
  const auto sum_out = [&](Sizes& sizes, std::size_t label) {
    const Count before = elements(sizes);
    sizes[label] = 1;
    on_sum(before - elements(sizes));
  };

  for (std::size_t step = 0; operands.size() > 1; ++step) {
    std::size_t i = 0, j = 1;
    const bool planned = path.size() >= 2 * (step + 1);
    if (planned) {
      i = static_cast<std::size_t>(std::min(path[2 * step], path[2 * step + 1]));
      j = static_cast<std::size_t>(std::max(path[2 * step], path[2 * step + 1]));
      if (i == j || i >= operands.size() || j >= operands.size()) i = 0, j = 1;
    }
    Sizes a = operands[i], b = operands[j];
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    Contraction pair;
    Sizes result;
    for (std::size_t l = 0; l < kLabels; ++l) {
      const bool summed = !has(equation.output, l);
      if (summed && users[l] == 1 && (a[l] != 1) != (b[l] != 1)) sum_out(a[l] != 1 ? a : b, l), users[l] = 0;
      const bool in_a = a[l] != 1, in_b = b[l] != 1;
      result[l] = in_a ? a[l] : b[l];
      if (in_a && in_b && summed && --users[l] == 1) {
        pair.k *= Count{a[l]};
        pair.sums = true;
        users[l] = 0;
        result[l] = 1;
      } else if (in_a && in_b) {
        pair.z *= Count{a[l]};
      } else {
        (in_a ? pair.m : pair.n) *= Count{result[l]};
      }
    }
    on_pair(pair);
    operands.insert(planned ? operands.end() : operands.begin(), result);
  }
  for (std::size_t l = 0; l < kLabels; ++l)
    if (!has(equation.output, l) && operands[0][l] != 1) sum_out(operands[0], l);
}

// --- fvcore: numpy's optimal path ---

Count size_of(const Equation& equation, LabelSet set) {
  Count product = 1;
  for (std::size_t l = 0; l < kLabels; ++l)
    if (has(set, l)) product *= Count{equation.size[l]};
  return product;
}

// The cheapest order of pairwise contractions, by trying all; numpy counts each label of a pair once, and
// twice over where something is summed.
Count cheapest(const Equation& equation, const std::vector<LabelSet>& terms) {
  if (terms.size() < 2) return 0;
  Count best = Count::kMax;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      LabelSet kept = equation.output;
      std::vector<LabelSet> rest;
      for (std::size_t k = 0; k < terms.size(); ++k)
        if (k != i && k != j) kept |= terms[k], rest.push_back(terms[k]);
      const LabelSet both = terms[i] | terms[j];
      rest.push_back(both & kept);
      const Count cost = size_of(equation, both) * ((both & ~kept) != 0 ? 2 : 1);
      best = std::min(best, cost + cheapest(equation, rest));
    }
  return best;
}

// The two equations that fvcore knows by heart, with letters named in order of appearance.
bool is_known_to_fvcore(std::string_view equation) {
  std::string canonical, seen;
  for (const char c : equation) {
    if (c == ' ') continue;
    if (letter(c) < 0) {
      canonical += c;
      continue;
    }
    auto index = seen.find(c);
    if (index == std::string::npos) index = seen.size(), seen += c;
    canonical += static_cast<char>('a' + index);
  }
  return canonical == "abc,abd->acd" || canonical == "abc,adc->adb";
}

// fvcore reads numpy's printed report, which has four digits.
Count four_digits(Count count) {
  const std::string text = fmt::format("{:.3e}", static_cast<double>(count));
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value < 1.8e19 ? Count{static_cast<std::uint64_t>(value)} : Count{Count::kMax};
}

constexpr std::size_t kMostTried = 6;  // operands whose orders are all tried: beyond, n! grows too fast

}  // namespace

MaybeWork einsum_work(const OpCall& call) {
  const auto equation = parse(call);
  if (!equation) return std::nullopt;
  const bool is_complex = any_complex(call);
  Work work;
  run(
      *equation, call.ints("path"),
      [&](const Contraction& p) {
        if (p.sums)
          work.macs += p.z * p.m * p.k * p.n * (is_complex ? 4 : 1);
        else
          work.other_flops += p.z * p.m * p.n * (is_complex ? 6 : 1);
      },
      [&](Count adds) { work.other_flops += adds * (is_complex ? 2 : 1); });
  return work;
}

Count einsum_torch(const OpCall& call) {
  const auto equation = parse(call);
  Count macs;
  if (equation)
    run(
        *equation, call.ints("path"),
        [&](const Contraction& p) { macs += p.sums ? p.z * p.m * p.k * p.n : Count{}; }, [](Count) {});
  return macs * 2;
}

Count einsum_fvcore(const OpCall& call) {
  const auto equation = parse(call);
  if (!equation || equation->operands.size() > kMostTried) return 0;
  LabelSet all = 0;
  for (const LabelSet set : equation->labels) all |= set;
  if (is_known_to_fvcore(call.string("equation"))) return size_of(*equation, all);
  const Count alone = size_of(*equation, all) * ((all & ~equation->output) != 0 ? 2 : 1);
  const Count flops = equation->operands.size() == 1 ? alone : cheapest(*equation, equation->labels);
  return four_digits(flops + 1) / 2;
}

Letters einsum_letters(const OpCall& call) {
  const auto equation = parse(call);
  if (!equation || equation->operands.size() != 2) return {};
  Letters letters;
  const auto keep = [&](const Contraction& p) { letters = {{"z", p.z}, {"m", p.m}, {"k", p.k}, {"n", p.n}}; };
  run(*equation, {}, keep, [](Count) {});
  return letters;
}

}  // namespace opscope
