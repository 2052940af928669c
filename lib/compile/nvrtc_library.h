#ifndef TUNEONCE_LIB_COMPILE_NVRTC_LIBRARY_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_LIBRARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/environment.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// NVRTC's functions, as its documentation declares them (nvrtc.h is not part of what a minimal build needs).
struct NvrtcLibrary {
  using Program = struct _nvrtcProgram*;  // NOLINT: NVRTC's name.

  std::string path;    ///< As it was asked for.
  std::string file;    ///< The file that it was loaded from, without links; `path` if the loader does not know it.
  std::string folder;  ///< The folder of `file`; empty if that is unknown.
  std::string build;   ///< The file's GNU build id, or its size: versions that `Version` calls alike differ in it.
  int (*Version)(int* major, int* minor);
  const char* (*GetErrorString)(int result);
  int (*CreateProgram)(Program*, const char* source, const char* name, int num_headers, const char* const* headers,
                       const char* const* names);
  int (*DestroyProgram)(Program*);
  int (*AddNameExpression)(Program, const char* expression);
  int (*GetLoweredName)(Program, const char* expression, const char** name);
  int (*CompileProgram)(Program, int num_options, const char* const* options);
  int (*GetProgramLogSize)(Program, std::size_t*);
  int (*GetProgramLog)(Program, char*);
  int (*GetCUBINSize)(Program, std::size_t*);
  int (*GetCUBIN)(Program, char*);

  // Null where the library has none: before CUDA 13.0, and before 13.3.
  int (*SetFlowCallback)(Program, int (*callback)(void* payload, void* reserved), void* payload) = nullptr;
  int (*GetTileIRSize)(Program, std::size_t*) = nullptr;
  int (*GetTileIR)(Program, char*) = nullptr;

  /// Whether it compiles CUDA Tile C++: CUDA 13.3 and newer.
  bool has_tile() const { return GetTileIR != nullptr && GetTileIRSize != nullptr; }
  /// "13.5".
  std::string VersionText() const;

  static constexpr int kInvalidOption = 5;     ///< NVRTC_ERROR_INVALID_OPTION.
  static constexpr int kCompilation = 6;       ///< NVRTC_ERROR_COMPILATION: its log says why.
  static constexpr int kCancelled = 16;        ///< NVRTC_ERROR_CANCELLED: SetFlowCallback's callback ended it.
  static constexpr int kTraceNotWritten = 17;  ///< NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED.

  /// Loads `Environment::nvrtc` if it is set, else libnvrtc.so.13 or .12 from `Environment::cuda_home`/lib64, from
  /// where the loader looks, or from /usr/local/cuda/lib64. The library is loaded once per process and never unloaded.
  /// Errors: Unavailable.
  static Result<const NvrtcLibrary*> Load(const Environment& environment);
  /// One that compiles CUDA Tile C++: `Environment::tile_nvrtc`, else libnvrtc.so.13 from the first of `folders` that
  /// has one, and from where the loader looks. What `Load` returns stays as it is: a library that is loaded by its path
  /// would otherwise be found by its name, too. Errors: Unavailable, which states what was found and what to install.
  static Result<const NvrtcLibrary*> LoadForTile(const Environment& environment,
                                                 const std::vector<std::string>& folders);
};

/// Where the CUDA toolkit's headers are, for NVRTC. A value.
struct CudaHeaders {
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

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_LIBRARY_H_
