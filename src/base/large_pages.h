// Asks for large pages where a large array is about to be filled: its first touch then costs a fault for each
// 2 MiB and not for each 4 KiB, which is most of what a graph of a million ops takes longer by, per op, than
// a small one. A hint; what it does not help it does not change.
#pragma once

#include <cstddef>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace opscope {

inline void expect_large(const void* data, std::size_t bytes) {
#ifdef __linux__
  constexpr std::size_t kPage = 4096, kLarge = std::size_t{1} << 23;
  if (bytes < kLarge) return;
  const std::size_t skipped = (kPage - reinterpret_cast<std::size_t>(data) % kPage) % kPage;
  char* const begin = static_cast<char*>(const_cast<void*>(data)) + skipped;
  ::madvise(begin, (bytes - skipped) / kPage * kPage, MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}

// Room for so many items, on large pages where they are many.
template <class T>
void reserve_large(std::vector<T>& items, std::size_t count) {
  items.reserve(count);
  expect_large(items.data(), items.capacity() * sizeof(T));
}

}  // namespace opscope
