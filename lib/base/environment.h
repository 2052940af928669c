#ifndef TUNEONCE_LIB_BASE_ENVIRONMENT_H_
#define TUNEONCE_LIB_BASE_ENVIRONMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The process's environment as a plain value, which is read when a Runtime is made and passed on from there. Read is
/// the library's only call of getenv. Without Read all members have the defaults below.
struct Environment {
  /// `TUNEONCE_DISABLE_AUTOTUNE` or `DISABLE_AUTOTUNE` is "1": TunedKernels that are made from now on neither measure
  /// nor store, and launch their fallback configs. Default false.
  bool disable_autotune = false;
  /// `TUNEONCE_CUDA_DRIVER`: the library to load instead of "libcuda.so.1". Default empty.
  std::string cuda_driver;
  /// `TUNEONCE_CPU_DRIVER`: the CPU device's library, where it does not lie beside the program or this library.
  std::string cpu_driver;
  /// `TUNEONCE_NVRTC`: the NVRTC library. Default empty: see NvrtcToolchain for the places searched.
  std::string nvrtc;
  /// `TUNEONCE_TILE_NVRTC`: the NVRTC library for CUDA Tile C++, 13.3 or newer. Default empty: see TileCppToolchain for
  /// the places searched.
  std::string tile_nvrtc;
  /// `TUNEONCE_CUDA_INCLUDE`: folders of the CUDA toolkit's headers for CUDA C++, separated by ':'. Default empty: see
  /// CudaHeaders for the places searched.
  std::string cuda_include;
  /// `TUNEONCE_CUPTI`: the CUPTI library. Default empty: see LoadCupti for the places searched.
  std::string cupti;
  /// `TUNEONCE_NVML`: the NVML library, which knows a device's clocks. Default empty: "libnvidia-ml.so.1".
  std::string nvml;
  /// `CUDA_INJECTION64_PATH`, else `NVTX_INJECTION64_PATH`: a profiler that is loaded into this process (nsys, ncu) and
  /// owns CUPTI. Default empty.
  std::string profiler;
  /// `TUNEONCE_TILEIRAS`, `TUNEONCE_PTXAS`: the compilers for Tile IR and PTX. Default empty: see Toolbox::Find for
  /// the places searched.
  std::string tileiras;
  std::string ptxas;
  /// False if `TUNEONCE_ENABLE_TILE` or `ENABLE_TILE` is "0": Tile IR is not used, and a config's next variant (PTX,
  /// for example) is used in its place. Default true.
  bool enable_tile = true;
  /// `VIRTUAL_ENV` and `HOME`: where PyPI's wheels may have put a compiler.
  std::string virtual_env;
  std::string home;
  /// `TUNEONCE_STORE`: the file of the default store, or "memory". Default empty: see SqliteStoreOptions::path.
  std::string store;
  /// `TUNEONCE_FLEET_KEYS`: the file of the signing keys of a fleet's store that is named by its address
  /// (ReadSigningKeys). Default empty: none.
  std::string fleet_keys;
  /// `TUNEONCE_REDIS_PASSWORD`: for a Redis server whose address has none. Default empty.
  std::string redis_password;
  /// `XDG_CACHE_HOME`.
  std::string cache_folder;
  /// `TUNEONCE_LOG`: the level of a Runtime's log: "warn" (default), "info" or "debug".
  std::string log = "warn";
  /// `TUNEONCE_BUNDLES`: folders, separated by ':', in which bundles are looked for by name before the installed ones.
  /// Default empty.
  std::string bundles;
  /// `TUNEONCE_RECORD_SHAPES`: the file to which the shapes of launches are added (ShapeLog). Default empty: none.
  std::string record_shapes;
  /// `TUNEONCE_COMPILE_WORKERS`: how many candidates are compiled at a time. Default 0: see CompileSlots.
  int compile_workers = 0;
  /// `TUNEONCE_CXX`, else `CXX`: the C++ compiler for the CPU device's kernels. Default empty: c++, g++, clang++.
  std::string cxx;
  /// `CUDA_HOME`, else `CUDA_PATH`: the CUDA toolkit's folder. Default empty: /usr/local/cuda.
  std::string cuda_home;
  /// `PATH`: where tools without a folder in their name are looked for.
  std::string path;
  /// `TMPDIR`, else "/tmp": folder for short-lived files.
  std::string temporary_folder = "/tmp";
  /// `CUDA_MPS_PIPE_DIRECTORY`: where an MPS daemon has its pipes. Default "/tmp/nvidia-mps", as MPS has it.
  std::string mps_folder = "/tmp/nvidia-mps";
  /// `TUNEONCE_WORKER`: the program in which isolated trials and NVRTC run. Default empty: see FindWorker for the
  /// places searched.
  std::string worker;
  /// The variables for a worker, "NAME=value": `PATH`, `HOME` (the driver's cache), `TMPDIR`, `LD_LIBRARY_PATH`, all of
  /// `CUDA_*`, `NVIDIA_*` and `NVRTC_*` except a profiler, those that select drivers and devices
  /// (`TUNEONCE_CUDA_DRIVER`, `TUNEONCE_CPU_DRIVER`, `TUNEONCE_CPU_DEVICES`, `TUNEONCE_CPU_MEMORY_MIB`,
  /// `TUNEONCE_CUPTI`), and sanitizers' options.
  std::vector<std::string> of_worker;
  /// `TUNEONCE_CPU_DEVICES`: how many devices the CPU driver offers, 1 to 8. Default 1.
  int cpu_devices = 1;
  /// `TUNEONCE_CPU_MEMORY_MIB`: memory of each CPU device in MiB. Default 0: half of the machine's memory.
  std::int64_t cpu_memory_mib = 0;
  /// Likely mistakes in the process's variables, one line each: an unknown variable `TUNEONCE_...`, or an invalid
  /// value, in place of which the default is used. Runtime::Default() logs them.
  std::vector<std::string> warnings;

  /// Reads the process's environment. REQUIRES: no other thread sets variables meanwhile.
  static Environment Read();
  /// Reads the environment with the variables of `instead` in place of the process's. An empty value unsets a variable.
  /// Errors: InvalidArgument for an unknown name, or a number that is invalid or out of range.
  static Result<Environment> Read(const std::map<std::string, std::string>& instead);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_ENVIRONMENT_H_
