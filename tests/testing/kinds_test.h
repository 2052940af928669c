#ifndef TUNEONCE_TESTS_TESTING_KINDS_TEST_H_
#define TUNEONCE_TESTS_TESTING_KINDS_TEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/search_options.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce::testing {

/// Searches on the CPU device among kernels, one per value of an axis KIND, of which some do what they must not.
/// y = 2 * x over N elements; KIND=0 is the baseline, and slow.
class KindsTest : public CpuDeviceTest {
 protected:
  static constexpr std::int64_t kN = 1000;

  KindsTest() {
    options_.quiet = true;
    options_.runtime = RuntimeIn({});
    options_.candidate_deadline_ms = 4000;
  }

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
                      return KernelSource::HostCpp(source, "k").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }

  /// EXPECTs that nothing of the caller's changes.
  Result<TuningResult> Search(const KernelDefinition& definition) {
    DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
    const TensorView x_view = View(x), y_view = View(y);
    Result<TuningResult> result = exhaustive_search(definition, stream_->get(), {x_view, y_view}, options_);
    EXPECT_TRUE(Read(x) == std::vector<float>(kN, 3)) << "the caller's input is damaged";
    EXPECT_TRUE(Read(y) == std::vector<float>(kN, 7)) << "the caller's output is damaged";
    return result;
  }
  /// Failures by config: "crash: ...".
  static std::map<std::string, std::string> Failures(const TuningResult& result) {
    std::map<std::string, std::string> failures;
    for (const Failure& failure : result.failures) {
      failures[failure.config.ToString()] = std::string(FailureKindName(failure.kind)) + ": " + failure.message;
    }
    return failures;
  }

  IntAxis kind_;
  SearchOptions options_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_KINDS_TEST_H_
