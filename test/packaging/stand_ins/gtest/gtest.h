// A stand-in for the tests: see README.md. As much of GoogleTest as the generated tests use.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

namespace stand_in
{

inline int failures = 0;

inline std::vector<std::function<void()>> & tests()
{
  static std::vector<std::function<void()>> all;
  return all;
}

inline bool check(bool holds, const char * what, int line)
{
  if (!holds) {
    ++failures;
    std::printf("line %d: %s\n", line, what);
  }
  return holds;
}

}  // namespace stand_in

#define TEST(suite, name) \
  static void suite ## _ ## name(); \
  static const bool suite ## _ ## name ## _added = \
    (stand_in::tests().push_back(suite ## _ ## name), true); \
  static void suite ## _ ## name()
#define EXPECT_TRUE(holds) stand_in::check(holds, #holds, __LINE__)
#define ASSERT_TRUE(holds) if (!stand_in::check(holds, #holds, __LINE__)) return
#define EXPECT_NEAR(a, b, error) stand_in::check(std::fabs((a) - (b)) <= (error), #a " near " #b, __LINE__)

int main()
{
  for (const auto & test : stand_in::tests()) {
    test();
  }
  std::printf("%zu tests, %d failures\n", stand_in::tests().size(), stand_in::failures);
  return stand_in::failures == 0 && !stand_in::tests().empty() ? 0 : 1;
}
