// A turn is a number made of the ops that turned the value since its group began.
#include "partition/turns.h"

#include <algorithm>
#include <array>

namespace opscope {
namespace {

constexpr std::array<std::string_view, 24> kTurning{
    "adjoint",
    "channel_shuffle",
    "flip",
    "fliplr",
    "flipud",
    "mH",
    "mT",
    "matrix_H",
    "moveaxis",
    "movedim",
    "native_channel_shuffle",
    "numpy_T",
    "permute",
    "permute_copy",
    "pixel_shuffle",
    "pixel_unshuffle",
    "roll",
    "rot90",
    "swapaxes",
    "swapdims",
    "t",
    "t_copy",
    "transpose",
    "transpose_copy",
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15u;
  return a ^ (a >> 32);
}

}  // namespace

Turns::Turns(const Groups& groups) : g_(groups), turns_(groups.graph.ops.size(), 0) {
  for (const Target& target : g_.graph.targets) {
    const auto name = short_op_name(g_.graph.text(target.name));
    is_turning_.push_back(std::ranges::find(kTurning, name) != kTurning.end() ? 1 : 0);
  }
}

// The same op with the same numbers turns the same way.
std::uint64_t Turns::turned(std::uint64_t turn, OpId id) const {
  const Op& op = g_.graph.ops[id];
  if (is_turning_[op.target] == 0) return turn;
  turn = mixed(turn, op.target + 1);
  for (const Argument& argument : g_.graph.arguments_of(op)) {
    if (argument.kind == ArgumentKind::kInt) turn = mixed(turn, static_cast<std::uint64_t>(argument.integer));
    if (argument.kind == ArgumentKind::kIntList)
      for (const auto item : g_.graph.ints_in(argument)) turn = mixed(turn, static_cast<std::uint64_t>(item));
  }
  return turn;
}

std::uint64_t Turns::of(const Read& read) const {
  const OpId writer = g_.writer(read), maker = g_.flow.maker(read.value);
  const bool is_view = maker != kNone && maker > writer && g_.flow.works[maker] == 0;
  return turns_[is_view ? maker : writer];
}

void Turns::place(OpId op) {
  std::uint64_t turn = 0;
  if (g_.flow.works[op] == 0 && g_.flow.shown(op) != kNone) turn = turns_[g_.flow.shown(op)];
  for (const Read& read : g_.flow.reads_of(op))
    if (read.write != kNone && g_.order.group_of(g_.writer(read)) == g_.order.group_of(op)) {
      turn = of(read);
      break;
    }
  turns_[op] = turned(turn, op);
}

}  // namespace opscope
