// What no plan can be better than, from the times of items alone: work spread over the devices as if it could
// be cut anywhere, and the largest item.
#pragma once

#include <vector>

#include "plan/solver/problem.h"

namespace opscope {

// Weights of classes and prices of their memory, and what each item is then at least: the sum of what is
// left, less the price of the memory of the devices that are left, over their weights is a lower bound of the
// slowest of them, whatever the weights and prices.
struct SpreadBound {
  std::vector<double> weights;  // by class; of all devices together 1
  std::vector<double> memory;   // by class: the price of a device's memory
  std::vector<double> least;    // by item
  double all = 0;               // of all items: a bound of the slowest device
};

SpreadBound spread_bound(const PlanProblem& problem);

// The longest that any item takes where it is fastest.
double largest_item(const PlanProblem& problem);

// The same for a sum over items: each on the class where it costs least, with a price for the memory of
// classes that have too little for all that would go there. What is left costs at least its items less the
// price of all memory of the devices that are left.
struct SumBound {
  std::vector<double> least;   // by item, with the price of its bytes
  std::vector<double> memory;  // by class: the price of a device's memory
  std::vector<double> load;    // by class: seconds of each device
  double all = 0;              // of all items and devices
};

SumBound sum_bound(const PlanProblem& problem, const std::vector<double>& weights);

// The least sum over items, each on the class where `weights` times its seconds is least.
std::vector<double> least_items(const PlanProblem& problem, const std::vector<double>& weights);

}  // namespace opscope
