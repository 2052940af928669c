// How many compiles of NVRTC's get the code of other options than theirs: nvrtc_cache [--threads=16] [--compiles=25],
// prints JSON. Where there is a CUDA driver, NVRTC keeps cubins in the driver's cache from version 13.0 on, unless it
// is told --no-cache. One kernel is compiled with exact divisions and without, with a limit of registers and without,
// and for one element or four: alone with --no-cache, then by many threads at a time with the cache and without it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "compile/cubin.h"
#include "compile/nvrtc_library.h"
#include "tuneonce/plugin/artifact.h"

namespace tuneonce {
namespace {

constexpr std::size_t kKinds = 8;
constexpr char kDivide[] = R"(
extern "C" __global__ void divide(const float* x, float* y, int n) {
  for (int i = 0; i < ITEMS; ++i) {
    int at = (blockIdx.x * ITEMS + i) * blockDim.x + threadIdx.x;
    if (at < n) y[at] = x[at] / (1.0f + x[at]);
  }
}
)";

/// What the code is, whatever the cubin holds besides.
Result<Fingerprint> CodeOf(const NvrtcLibrary& nvrtc, std::size_t kind, bool with_cache) {
  std::vector<const char*> options = {"--gpu-architecture=sm_90", (kind & 4) != 0 ? "-DITEMS=4" : "-DITEMS=1",
                                      (kind & 1) != 0 ? "--prec-div=true" : "--prec-div=false"};
  if ((kind & 2) != 0) options.push_back("--maxrregcount=64");
  if (!with_cache) options.push_back("--no-cache");
  NvrtcLibrary::Program program = nullptr;
  int result = nvrtc.CreateProgram(&program, kDivide, "divide.cu", 0, nullptr, nullptr);
  if (result == 0) result = nvrtc.CompileProgram(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  if (result == 0) result = nvrtc.GetCUBINSize(program, &size);
  Artifact artifact;
  artifact.symbol = "divide";
  artifact.image.resize(size);
  if (result == 0) result = nvrtc.GetCUBIN(program, artifact.image.data());
  nvrtc.DestroyProgram(&program);
  if (result != 0) return InternalError(nvrtc.GetErrorString(result));
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact));
  return artifact.code_fingerprint;
}

/// Of `threads` times `compiles`, how many are not what they are alone.
int CountOthers(const NvrtcLibrary& nvrtc, const std::vector<Fingerprint>& alone, int threads, int compiles,
                bool with_cache) {
  std::atomic<int> others{0};
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, kind = static_cast<std::size_t>(thread) % kKinds] {
      for (int i = 0; i < compiles; ++i) {
        Result<Fingerprint> code = CodeOf(nvrtc, kind, with_cache);
        others += code.ok() && *code == alone[kind] ? 0 : 1;
      }
    });
  }
  for (std::thread& each : running) each.join();
  return others;
}

Result<nlohmann::ordered_json> Run(int threads, int compiles) {
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(Environment::Read()));
  std::vector<Fingerprint> alone;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    TUNEONCE_ASSIGN_OR_RETURN(Fingerprint code, CodeOf(*nvrtc, kind, /*with_cache=*/false));
    alone.push_back(code);
  }
  std::vector<Fingerprint> different = alone;
  std::sort(different.begin(), different.end());
  const auto count = std::unique(different.begin(), different.end()) - different.begin();
  int major = 0, minor = 0;
  nvrtc->Version(&major, &minor);
  return nlohmann::ordered_json{
      {"nvrtc", std::to_string(major) + "." + std::to_string(minor)},
      {"different_codes", count},
      {"compiles", threads * compiles},
      {"other_code_with_cache", CountOthers(*nvrtc, alone, threads, compiles, true)},
      {"other_code_without", CountOthers(*nvrtc, alone, threads, compiles, false)},
  };
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("How many compiles of NVRTC's get the code of other options than theirs");
  int threads = 16, compiles = 25;
  app.add_option("--threads", threads, "Threads that compile at a time")->check(CLI::PositiveNumber);
  app.add_option("--compiles", compiles, "Compiles of each")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  tuneonce::Result<nlohmann::ordered_json> json = tuneonce::Run(threads, compiles);
  if (!json.ok()) {
    std::fprintf(stderr, "nvrtc_cache: %s\n", json.status().message().c_str());
    return 1;
  }
  std::printf("%s\n", json->dump().c_str());
}
