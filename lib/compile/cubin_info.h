#ifndef TUNEONCE_LIB_COMPILE_CUBIN_INFO_H_
#define TUNEONCE_LIB_COMPILE_CUBIN_INFO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

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
TUNEONCE_API Result<CubinKernel> ReadCubinKernel(std::string_view image, const std::string& symbol);

/// True if code for compute capability `code` runs on a GPU of `device`: the same major version, and no newer minor
/// one.
inline bool RunsOn(int code, int device) { return code / 10 == device / 10 && code % 10 <= device % 10; }

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CUBIN_INFO_H_
