// What a profile and a comparison of tracers say in the same words. Parts count from 1, as --graph-part does.
#pragma once

#include "report/core/json_parts.h"

namespace opscope {

inline void write_fields(JsonWriter& json, const Rung& rung) {
  json.field("tracer", rung.tracer);
  json.field("outcome", rung.outcome);
  json.field("reason", rung.reason);
  json.field("hint", rung.hint);
  json.field("detail", rung.detail);
  json.field("seconds", rung.seconds);
}

inline void write_fields(JsonWriter& json, const Break& item) {
  json.field("reason", item.reason);
  json.field("source", item.source);
  id_or_null(json, "after", item.after, 1);
  json.field("detail", item.detail);
}

}  // namespace opscope
