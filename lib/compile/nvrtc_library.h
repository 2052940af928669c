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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_LIBRARY_H_
