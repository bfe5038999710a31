// A plain graph of costs: what runs, how long on each class of devices, what passes between, and what holds
// memory. What it was made from (a file, a captured model) is left to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace opscope {

// Devices that are the same to a plan.
struct DeviceClass {
  std::string name;
  std::size_t count = 1;
  std::optional<double> memory_bytes{};      // of each; none: unlimited
  bool transfers_free = false;               // what it sends and receives takes none of its time
  std::optional<double> bytes_per_second{};  // of the link of each, where tensors are given in bytes
  double latency_seconds = 0;                // of the same link
  std::optional<double> watts{}, price_per_hour{};
};

inline constexpr double kCannotRun = std::numeric_limits<double>::infinity();

struct CostNode {
  std::variant<std::int64_t, std::string> id;
  std::vector<double> seconds;          // by class; kCannotRun where it cannot
  double bytes = 0;                     // held for as long as the plan runs
  double peak_bytes = 0;                // held while it runs: a device needs the largest of its nodes
  std::string colocate{};               // nodes with the same word are on one device; "": alone
  std::vector<std::uint32_t> shared{};  // CostGraph::shared_bytes, held once by each device that needs them
  bool backward = false;  // of a training step: runs after all stages went forward, in the opposite order
};

// What a node gives others: sent once by its device, and received once by each other device that reads it.
struct CostTensor {
  std::uint32_t producer = 0;
  std::vector<std::uint32_t> consumers{};
  std::vector<double> seconds{};  // by class of the device that sends or receives
  double bytes = 0;               // a device that receives it holds it
};

struct CostGraph {
  std::vector<DeviceClass> classes;
  std::vector<CostNode> nodes;
  std::vector<CostTensor> tensors;
  std::vector<double> shared_bytes{};
  bool overlap = false;  // transfers go on while a device computes
  // A tensor takes both links for their time in the throughput, and once, the slower of the two, in the
  // latency of one run. Else each end's time counts in both.
  bool point_to_point = false;

  std::size_t devices() const;
};

std::string id_text(const CostNode& node);

// Throws Error at `where` for what no plan can be made of: no devices, numbers that are none, edges in a
// circle, a node that no class can run or that is larger than every memory.
void check(const CostGraph& graph, const std::string& where);

// Nodes on one device, and what they take there.
struct PlanPart {
  std::uint32_t device_class = 0, device = 0;  // the class, and which of its devices
  std::vector<std::uint32_t> nodes{};          // in the order of the graph
  double compute_seconds = 0, send_seconds = 0, receive_seconds = 0;
  double seconds = 0;      // of the device for one run: with the transfers, or the longest of the three
  double hop_seconds = 0;  // in the latency of one run, what it waits for transfers
  double bytes = 0;
};

// Works out what the parts take, from their nodes and classes alone.
void price(const CostGraph& graph, std::vector<PlanPart>& parts);

}  // namespace opscope
