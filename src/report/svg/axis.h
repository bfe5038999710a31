// Ticks and labels of axes: round numbers, units as everywhere else.
#pragma once

#include <string>
#include <vector>

#include "metrics/unit.h"
#include "report/svg/svg.h"

namespace opscope {

struct Tick {
  double value = 0;
  std::string label{};  // "" for a small one between two
};

// From one value to another, linear or logarithmic (then both above 0), along a stretch of the picture.
struct Axis {
  double low = 0, high = 1;
  double from = 0, to = 1;  // where low and high are drawn; from > to for axes that go up
  bool logarithmic = false;
  Unit unit = Unit::kPlain;
  bool by_two = false;       // logarithmic: its ticks are powers of two
  double few_decades = 1.5;  // below so many, 2 and 5 are labelled beside 1 and 10

  double at(double value) const;  // outside where the value is
  std::vector<Tick> ticks(int about = 5) const;
};

// 0 to the first round number at or above `most`, so that the last tick is the axis' end.
Axis linear_axis(double most, double from, double to, Unit unit, int ticks = 5);
// Over all of low..high with some room at both ends; both above 0.
Axis log_axis(double low, double high, double from, double to, Unit unit);

std::string tick_label(double value, Unit unit);  // "2.5G", "50MB", "0.1", "25%"

// Grid lines over the box, tick labels beside it and the title: below the box, or to its left.
void draw_x_axis(Svg& svg, const Axis& axis, const Box& plot, std::string_view title);
void draw_y_axis(Svg& svg, const Axis& axis, const Box& plot, std::string_view title);

}  // namespace opscope
