// expat takes its hash salt from arc4random_buf, which glibc has only since 2.36: the same bytes from getrandom, so that a
// wheel runs on older systems.
#include <stddef.h>
#include <sys/random.h>

void arc4random_buf(void* to, size_t size) {
  for (char* at = to; size > 0;) {
    const ssize_t got = getrandom(at, size < 256 ? size : 256, 0);
    if (got <= 0) continue;
    at += got;
    size -= (size_t)got;
  }
}
