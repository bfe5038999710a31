// Reading --tracer.
#include "app/models/tracers.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace opscope {

std::string checked_tracer(const std::string& text) {
  if (std::ranges::find(kTracers, text, &TracerName::name) != kTracers.end()) return text;
  std::vector<std::string_view> names;
  for (const TracerName& tracer : kTracers) names.push_back(tracer.name);
  const std::string near = did_you_mean(text, names);
  throw Error("no tracer called '" + text + "'", "--tracer",
              near.empty() ? "choose auto, static, eager, fx, dynamo, export or hybrid" : near);
}

}  // namespace opscope
