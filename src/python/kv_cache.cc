#include "python/kv_cache.h"

#include "base/choices.h"
#include "base/error.h"

namespace opscope::python {
namespace {

template <class T>
void take(const py::dict& told, const char* key, T& to) {
  if (told.contains(key)) to = py::cast<T>(told[key]);
}

KvLayer layer_of(const py::dict& told) {
  KvLayer layer;
  const auto kind = named(py::cast<std::string>(told["kind"]), KvKind::kState);
  const auto dtype = dtype_from_name(py::cast<std::string>(told["dtype"]));
  OPSCOPE_CHECK(kind && dtype);
  layer.kind = *kind, layer.dtype = *dtype;
  take(told, "heads", layer.heads), take(told, "window", layer.window);
  take(told, "key_width", layer.key_width), take(told, "value_width", layer.value_width);
  take(told, "bytes_per_token", layer.bytes_per_token), take(told, "state_bytes", layer.state_bytes);
  take(told, "shared_bytes", layer.shared_bytes);
  return layer;
}

LatentAttention latent_of(const py::dict& told) {
  LatentAttention latent;
  take(told, "layers", latent.layers), take(told, "heads", latent.heads);
  take(told, "kv_lora_rank", latent.kv_lora_rank), take(told, "v_head_dim", latent.v_head_dim);
  take(told, "qk_rope_head_dim", latent.qk_rope_head_dim);
  take(told, "qk_nope_head_dim", latent.qk_nope_head_dim);
  return latent;
}

}  // namespace

KvCache kv_cache_of(const py::dict& told) {
  KvCache cache;
  take(told, "type", cache.type), take(told, "batch", cache.batch), take(told, "past_len", cache.past_len);
  take(told, "capacity", cache.capacity), take(told, "block", cache.block);
  for (const auto& layer : py::cast<py::list>(told["layers"]))
    cache.layers.push_back(layer_of(py::cast<py::dict>(layer)));
  if (told.contains("latent")) cache.latent = latent_of(py::cast<py::dict>(told["latent"]));
  return cache;
}

}  // namespace opscope::python
