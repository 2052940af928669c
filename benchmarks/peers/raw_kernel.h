#ifndef TUNEONCE_BENCHMARKS_PEERS_RAW_KERNEL_H_
#define TUNEONCE_BENCHMARKS_PEERS_RAW_KERNEL_H_

#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace peers {

constexpr unsigned kBlock = 256;  ///< Threads a block, as in the bundle.

inline void Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "unknown error";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", call, name);
  std::exit(1);
}

/// The text of vector_add.cu; a line on stderr and the end if it is not there.
inline std::string ReadSource(const std::string& folder) {
  std::ifstream file(folder + "/vector_add.cu");
  if (!file) {
    std::fprintf(stderr, "%s/vector_add.cu cannot be read; give the folder benchmarks/peers/vector_add\n",
                 folder.c_str());
    std::exit(1);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// vector_add by the driver alone, in the current context: what a launch costs that nobody chooses. Loaded for good.
/// Thread rule: launches from any thread, each of which has the context current.
class RawKernel {
 public:
  /// REQUIRES: a current context of `device`.
  RawKernel(const std::string& source, CUdevice device) {
    int major = 0, minor = 0;
    Check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "cuDeviceGetAttribute");
    Check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "cuDeviceGetAttribute");
    std::string arch = "--gpu-architecture=sm_" + std::to_string(10 * major + minor);
    std::string block = "-DBLOCK=" + std::to_string(kBlock);
    const char* options[] = {arch.c_str(), block.c_str()};
    nvrtcProgram program = nullptr;
    std::size_t size = 0;
    if (nvrtcCreateProgram(&program, source.c_str(), "vector_add.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS ||
        nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS ||
        nvrtcGetCUBINSize(program, &size) != NVRTC_SUCCESS) {
      std::fprintf(stderr, "NVRTC cannot compile vector_add.cu for %s\n", arch.c_str());
      std::exit(1);
    }
    std::vector<char> image(size);
    nvrtcGetCUBIN(program, image.data());
    nvrtcDestroyProgram(&program);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    Check(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
    Check(cuLibraryGetKernel(&kernel, library, "vector_add"), "cuLibraryGetKernel");
    CUfunction loaded = nullptr;
    Check(cuKernelGetFunction(&loaded, kernel), "cuKernelGetFunction");
    function_ = reinterpret_cast<CUfunction>(kernel);
  }

  /// z = x + y where all three are `buffer`.
  void Launch(CUstream stream, CUdeviceptr buffer, long long n) const {
    void* parameters[] = {&buffer, &buffer, &buffer, &n};
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>((n + kBlock - 1) / kBlock);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = kBlock;
    config.hStream = stream;
    Check(cuLaunchKernelEx(&config, function_, parameters, nullptr), "cuLaunchKernelEx");
  }

 private:
  CUfunction function_ = nullptr;
};

}  // namespace peers

#endif  // TUNEONCE_BENCHMARKS_PEERS_RAW_KERNEL_H_
