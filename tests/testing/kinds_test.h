#ifndef TUNEONCE_TESTS_TESTING_KINDS_TEST_H_
#define TUNEONCE_TESTS_TESTING_KINDS_TEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "testing/kind_searches.h"

namespace tuneonce::testing {

/// On the CPU device, one kernel per value of an axis KIND; KIND=0 is the baseline, and slow.
class KindsTest : public KindSearches<CpuDeviceTest, 1000> {
 protected:
  KindsTest() : KindSearches(/*candidate_deadline_ms=*/4000) {}

  /// `body`: of one run, over `block`, `const float* x, float* y, int n, float* work`; `runs` counts them from 1 on,
  /// and `twice()` does what is right. `work` is of workspace_bytes(KIND).
  KernelDefinition Kinds(const std::string& body, std::vector<std::int64_t> kinds, std::int64_t work_bytes = 64) {
    const std::string source = R"(
extern "C" { void exit(int); void _exit(int); void abort(); int kill(int, int); int getpid(); void* malloc(unsigned long);
             long write(int, const void*, unsigned long); void usleep(unsigned); }
static int runs = 0;
static void k(const tuneonce_block&, const float* cx, float* y, int n, float* work) {
  ++runs;
  auto* x = const_cast<float*>(cx);
  auto twice = [&] { for (int i = 0; i < n; ++i) y[i] = 2 * x[i]; };
  (void)twice;
  if (work != nullptr) work[0] = KIND;  // No kind has the code of another.
  for (volatile int i = 0; i < (KIND == 0 ? 1000000 : 0); i = i + 1) {}
  {)" + body + "}\n}\nTUNEONCE_CPU_KERNEL(k);";
    SearchSpace space;
    kind_ = space.AddAxis("KIND", std::move(kinds));
    space.SetBaseline({{kind_, 0}});
    KernelDefinition definition("k");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"),
                     Workspace("work",
                               [work_bytes, kind = kind_](const Config& c, const Problem&) {
                                 constexpr std::int64_t kGreedy = 1000;  // These kinds want more than there is.
                                 return static_cast<std::size_t>(c[kind] >= kGreedy ? std::int64_t{1} << 50
                                                                                    : work_bytes);
                               })})
        .Space(space)
        .AddVariant(Variant([kind = kind_, source](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "k").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }

  IntAxis kind_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_KINDS_TEST_H_
