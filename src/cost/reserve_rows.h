// Room for rows that are about to be written one after the other. Past a few megabytes the first touch of
// each 4 KiB page would cost more than the row in it, so large room is asked for in huge pages, where the
// system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace opscope {

inline void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kPage = 4096, kWorthwhile = std::size_t{4} << 20;
  if (bytes < kWorthwhile) return;
  const std::size_t skip = (kPage - reinterpret_cast<std::uintptr_t>(data) % kPage) % kPage;
  // A hint: where it is refused, the rows are as right and a little slower.
  static_cast<void>(madvise(static_cast<char*>(data) + skip, (bytes - skip) / kPage * kPage, MADV_HUGEPAGE));
#endif
}

template <class Row>
void reserve_rows(std::vector<Row>& rows, std::size_t count) {
  rows.reserve(count);
  prefer_huge_pages(rows.data(), count * sizeof(Row));
}

}  // namespace opscope
