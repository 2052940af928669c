// The field "requires" of a manifest's variant: a condition of the config and the arguments.
#include <fstream>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class BundleRequiresTest : public testing::CpuDeviceTest {
 protected:
  /// y = 2 x, by code that writes -1 at an address that its vector width does not suit.
  Result<Bundle> Load(const std::string& requirement) {
    std::ofstream(folder_.path() + "/k.cc") << R"(#include <cstdint>
static void k(const tuneonce_block&, const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = reinterpret_cast<std::uintptr_t>(x) % (4 * VEC) == 0 ? 2 * x[i] : -1;
}
TUNEONCE_CPU_KERNEL(k);)";
    std::ofstream(folder_.path() + "/manifest.json")
        << R"({"tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["N"], "parameters": [
 {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
 {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]}, {"kind": "dim", "dim": "N"}],
"axes": [{"name": "VEC", "values": [4, 2, 1]}], "baseline": {"VEC": 4},
"variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "k", "grid": {"pattern": "fixed", "blocks": [1]},
 "defines": ["VEC"], "requires": ")"
        << requirement << R"(", "artifacts": [{"file": "k.cc"}]}]})";
    return Bundle::Load(folder_.path());
  }
  void LaunchAt(TunedKernel& kernel, std::size_t offset) {
    constexpr std::int64_t kExtent = 32;
    DeviceBuffer x = Floats(std::vector<float>(kExtent + offset, 3)), y = Floats(std::vector<float>(kExtent, 0));
    ASSERT_OK(kernel.Launch(stream_->get(),
                            TensorView::Contiguous(static_cast<float*>(x.data()) + offset, DType::kFloat32, {kExtent}),
                            TensorView::Contiguous(y.data(), DType::kFloat32, {kExtent})));
    EXPECT_EQ(Read(y), std::vector<float>(kExtent, 6)) << offset;
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleRequiresTest, AConfigRunsOnlyWhereItsRequirementHolds) {
  Result<Bundle> bundle = Load("VEC == 1 || aligned(x, 4 * VEC)");
  ASSERT_OK(bundle);
  EXPECT_EQ(bundle->definition().requirement_atoms().size(), 2u);
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.max_rounds = 1;
  policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  for (AutotunePolicy::Mode mode :
       {AutotunePolicy::Mode::kTuneOnMiss, AutotunePolicy::Mode::kStoredOnly, AutotunePolicy::Mode::kFallbackOnly}) {
    policy.mode = mode;
    Result<TunedKernel> kernel = TunedKernel::FromBundle(*bundle, policy);
    ASSERT_OK(kernel);
    for (std::size_t offset : {0, 1, 2, 3, 0}) LaunchAt(*kernel, offset);
  }
  // One for each alignment, or one for all if VEC=1 was the fastest.
  const std::size_t num_records = policy.store->List()->size();
  EXPECT_TRUE(num_records == 3 || num_records == 1) << num_records;
}

TEST_F(BundleRequiresTest, MistakesNameTheFieldAndThePosition) {
  EXPECT_ERROR(Load("VEC == 1 || alined(x, 16)"), StatusCode::kInvalidArgument, "variants[0].requires");
  EXPECT_ERROR(Load("VEC == 1 || alined(x, 16)"), StatusCode::kInvalidArgument, "unknown function 'alined'");
  EXPECT_ERROR(Load("VEC == 1 || aligned(z, 4 * VEC)"), StatusCode::kInvalidArgument,
               "an assumption names 'z', which is not a tensor with dims");
  EXPECT_ERROR(Load("WIDTH == 1"), StatusCode::kInvalidArgument, "unknown dim 'WIDTH'");
}

}  // namespace
}  // namespace tuneonce
