// The program's own malloc, calloc and realloc: they count, then call glibc's. operator new ends here too.

#include "allocations.hpp"

#include <atomic>
#include <cstddef>

namespace {
std::atomic<long> count{0};
}

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t items, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);

void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}

void* calloc(std::size_t items, std::size_t size) {
  ++count;
  return __libc_calloc(items, size);
}

void* realloc(void* block, std::size_t size) {
  ++count;
  return __libc_realloc(block, size);
}
}

long allocations() { return count.load(); }
