// The absorbed form of multi-head latent attention, by formula: eager transformers keeps the latent but
// expands it to all heads' keys and values at every step, which no server does.
#include "analyse/llm/served.h"

namespace opscope {
namespace {

ServedKernel kernel(Category category, DType dtype, const Work& work, const Traffic& traffic) {
  ServedKernel made;
  made.add(category, dtype, work);
  made.traffic = traffic;
  made.flops = work.macs * Count{2} + work.other_flops + work.specials;
  return made;
}

}  // namespace

std::vector<ServedKernel> absorbed_kernels(const AbsorbedAttention& a) {
  const Count rows = a.batch * a.queries * a.heads;  // a query of each head
  const auto held = [&](Count elements) { return bytes_of(a.activations, elements); };
  const Count wide = a.nope + a.value;
  const Count key_weights = wide ? a.weight_bytes * a.nope / wide : Count{};
  // q' = q W_UK: n -> c for each head.
  const ServedKernel queries = kernel(Category::kMatmul, a.activations, {.macs = rows * a.nope * a.latent},
                                      {held(rows * a.nope), held(rows * a.latent), key_weights});
  // Scores over c + r, values over c; the cache is read once for all heads.
  const Count scores = rows * a.context;
  const ServedKernel attention =
      kernel(Category::kAttention, a.activations,
             {.macs = scores * (a.latent + a.rope + a.latent),
              .other_flops = scores * Count{5} - rows * Count{2},
              .specials = scores},
             {held(rows * (a.latent + a.rope)) + bytes_of(a.cache, a.batch * a.context * (a.latent + a.rope)),
              held(rows * a.latent), Count{}});
  // o = o' W_UV: c -> v for each head.
  const ServedKernel values =
      kernel(Category::kMatmul, a.activations, {.macs = rows * a.latent * a.value},
             {held(rows * a.latent), held(rows * a.value), a.weight_bytes - key_weights});
  return {queries, attention, values};
}

}  // namespace opscope
