// Two threads on a package's triple buffer: the test's, not the package's.

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

#include TRIPLE_BUFFER

int main()
{
  constexpr long kLast = 1000000;
  ROBOT::TripleBuffer<std::array<long, 16>> buffer;
  std::thread writer([&buffer]() {
    for (long k = 1; k <= kLast; ++k) {
      buffer.back().fill(k);
      buffer.publish();
    }
  });
  long newest = 0;
  long taken = 0;
  bool whole = true;
  while (newest < kLast) {
    if (buffer.update()) {
      const std::array<long, 16> & value = buffer.front();
      for (const long each : value) {
        whole = whole && each == value[0];
      }
      whole = whole && value[0] > newest;
      newest = value[0];
      ++taken;
    }
  }
  writer.join();
  std::printf("%ld values taken, %s\n", taken, whole ? "each whole and newer" : "torn or old");
  return whole && !buffer.update() ? 0 : 1;
}
