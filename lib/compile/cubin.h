#ifndef TUNEONCE_LIB_COMPILE_CUBIN_H_
#define TUNEONCE_LIB_COMPILE_CUBIN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// EM_CUDA: an ELF file with this machine is a cubin.
inline constexpr int kMachineCuda = 190;

/// Reads `artifact->image` as a cubin and fills in its kernels, the resources of `artifact->symbol` (by default the
/// only kernel's; a C++ name becomes the mangled one, where it is one kernel's) and the code fingerprint. Errors:
/// InvalidArgument if the image is not a whole cubin, or has no such kernel.
Status DescribeCubin(Artifact* artifact);

/// Passes machine code through unchanged: cubins, fatbins, and shared objects for the CPU device. Errors of Compile:
/// InvalidArgument if the content is not machine code of such a kind, if it is truncated, or if it does not list its
/// kernels and the source names no symbol.
class CubinToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCubin; }
  Result<std::string> Version() const override { return std::string("cubin"); }
  std::string Description() const override { return "cubin, as is"; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;
};

/// One entry of a cubin's .nv.info sections: what the compiler tells the driver of its kernels (EIATTR_...).
struct InfoEntry {
  std::uint8_t format = 0;
  std::uint8_t attribute = 0;
  std::uint16_t size = 0;
  std::string_view value;
};
/// The entries of such a section; stops at the first that does not fit.
std::vector<InfoEntry> InfoEntries(std::string_view content);
/// The word at `offset`; 0 beyond the end.
std::uint32_t WordAt(std::string_view bytes, std::size_t offset);

/// What a cubin's own tables say of one kernel, as cuKernelGetParamInfo does of a loaded one: no GPU is needed.
struct CubinKernel {
  std::string symbol;
  int capability = 0;                        ///< That the cubin was compiled for: 90 for 9.0; 0 if it does not say.
  std::vector<std::size_t> parameter_sizes;  ///< Bytes of each parameter, in order.
};
/// Reads the tables of the kernel that DescribeCubin selects for `symbol`. Errors: as DescribeCubin; InvalidArgument if
/// the numbers of the parameters have gaps.
Result<CubinKernel> ReadCubinKernel(std::string_view image, const std::string& symbol);

/// True if code for compute capability `code` runs on a GPU of `device`: the same major version, and no newer minor
/// one.
inline bool RunsOn(int code, int device) { return code / 10 == device / 10 && code % 10 <= device % 10; }

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CUBIN_H_
