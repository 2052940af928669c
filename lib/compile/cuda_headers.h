#ifndef TUNEONCE_LIB_COMPILE_CUDA_HEADERS_H_
#define TUNEONCE_LIB_COMPILE_CUDA_HEADERS_H_

#include <string>
#include <vector>

#include "base/environment.h"
#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// Where the CUDA toolkit's headers are, for NVRTC. A value.
struct TUNEONCE_API CudaHeaders {
  /// What NVRTC is given behind a source's own folders: the toolkit's, then CCCL's (CUB, Thrust, libcu++), where it has
  /// one of its own. Empty if none was found.
  std::vector<std::string> folders;
  std::vector<std::string> places;  ///< Where was looked, in order, up to what was found.
  bool for_tile = false;            ///< As they were looked for.
  bool has_cccl = false;            ///< Whether cub/cub.cuh is in one of `folders`.

  /// `Environment::cuda_include` alone, if it is not empty. Else the first that has cuda_fp16.h of: beside the loaded
  /// NVRTC, which lies in `nvrtc_folder`, so that they are of one version: ../include, and as PyPI's wheels lie
  /// ../../cuda_runtime/include; $CUDA_HOME/include (or $CUDA_PATH/include); /usr/local/cuda/include; of the wheels
  /// (PythonPackageFolders) nvidia/cu13/include and nvidia/cuda_runtime/include. CCCL is its cccl, or
  /// nvidia/cuda_cccl/include beside a wheel's. `for_tile`: those for CUDA Tile C++, which have cuda_tile.h, too; older
  /// ones fail in NVRTC's tile code generator. `Environment::cuda_include` is passed over if none of its folders has
  /// it.
  static CudaHeaders Find(const Environment& environment, const std::string& nvrtc_folder, bool for_tile = false);

  /// "/usr/local/cuda/include, /usr/local/cuda/include/cccl"; or where was looked, and what to do.
  std::string ToString() const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CUDA_HEADERS_H_
