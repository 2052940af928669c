#ifndef TUNEONCE_LIB_COMPILE_CPU_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_CPU_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// "AMD EPYC 9654, features 0f3a51c2d4e6": what code for this machine's CPU device runs on (-march=native); "" where
/// the system does not say.
TUNEONCE_API const std::string& HostCpuModel();

/// What -march=native depends on, of the text of /proc/cpuinfo: the model's name and a fingerprint of its features,
/// since clouds give CPUs of several generations one name; where there are no such, as on aarch64, the numbers of its
/// maker and part and its list of features.
TUNEONCE_API std::string CpuModelIn(std::string_view cpu_info);

/// C++ -> shared object for the CPU device, by the system's compiler: `Environment::cxx` (a program, or a command such
/// as "ccache g++"), else c++, g++ or clang++ from PATH. Options: C++17, -O3 -march=native, no fused multiply-add (so
/// that tile sizes do not change the sum of a product by rounding), then the source's own. Hints do not apply. The text
/// of tuneonce/cpu_device/kernel.h comes before every source. An artifact is cacheable under two conditions. Its
/// options must let the compiler list all files that it reads, so no option may name a library, a plugin, a profile or
/// a file of options. And HeaderSearch must be able to compute where the compiler looked for headers that did not
/// exist.
class TUNEONCE_API CpuToolchain final : public Toolchain {
 public:
  explicit CpuToolchain(std::shared_ptr<const Toolbox> tools) : tools_(std::move(tools)) {}

  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override;
  std::string Description() const override;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const std::shared_ptr<const Toolbox> tools_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CPU_TOOLCHAIN_H_
