#ifndef TUNEONCE_TESTS_TESTING_SCALE_TACTICS_H_
#define TUNEONCE_TESTS_TESTING_SCALE_TACTICS_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "testing/device_test.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce::testing {

/// The scale kernel as a host's own tactics, one per value of the axis WORK {100, 1}: y = x * factor. The baseline is
/// 100, a slow one, by more than noise can hide. Copies share the code.
class ScaleTactics {
 public:
  SearchSpace space;
  IntAxis work = space.AddAxis("WORK", {100, 1});

  explicit ScaleTactics(const Device& device) {
    space.SetBaseline({{work, 100}});
    for (int each : {100, 1}) {
      KernelSource source = KernelSource::CpuCpp(kScaleSource, "scale").Define("TILE", 1 << 30).Define("WORK", each);
      Result<CompiledKernel> kernel = CompiledKernel::Create(device, source, Hints(), Geometry());
      EXPECT_OK(kernel);
      kernels_.emplace(each, *kernel);
    }
  }

  /// Puts one run of a tactic into the stream.
  Status Run(CUstream stream, std::int64_t work_value, const TensorView& x, const TensorView& y, float factor,
             std::int64_t n) const {
    ++*num_launches_;
    auto count = static_cast<int>(n);
    const void *from = x.data, *to = y.data;
    void* parameters[] = {&from, &to, &factor, &count};
    return kernels_.at(work_value).Launch(stream, parameters);
  }
  Variant::LaunchFn Launcher() const {
    return [self = *this](CUstream stream, const Config& c, const CallArguments& a) {
      return self.Run(stream, c[self.work], a.tensor("x"), a.tensor("y"), a.scalar<float>("factor"), a.dim("N"));
    };
  }
  /// x and y of N elements of `dtype`, launched by `launcher`.
  KernelDefinition Definition(const Variant::LaunchFn& launcher, DType dtype = DType::kFloat32,
                              const std::string& version = "1") const {
    KernelDefinition definition = KernelDefinition("scale").Version(version);
    definition.Parameters({In("x", dtype, {"N"}), Out("y", dtype, {"N"}), Scalar<float>("factor").ForWarmup(2)})
        .Space(space)
        .AddVariant(Callable(launcher));
    return definition;
  }
  KernelDefinition Definition() const { return Definition(Launcher()); }

  /// Of all copies.
  int num_launches() const { return *num_launches_; }

 private:
  std::map<std::int64_t, CompiledKernel> kernels_;
  std::shared_ptr<std::atomic<int>> num_launches_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_SCALE_TACTICS_H_
