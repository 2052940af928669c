#ifndef TUNEONCE_BENCHMARKS_PEERS_GPU_BENCH_H_
#define TUNEONCE_BENCHMARKS_PEERS_GPU_BENCH_H_

#include <memory>
#include <string>
#include <vector>

#include "interleaved.h"
#include "raw_kernel.h"

namespace peers {

/// What a peer's program launches into: the first GPU's primary context, a stream a thread, one buffer that is all
/// three tensors, and the kernel by hand beside the peer's. Given back by the end of the process.
struct GpuBench {
  explicit GpuBench(const std::string& folder) : source(ReadSource(folder)), streams(kManyThreads) {
    Check(cuInit(0), "cuInit");
    Check(cuDeviceGet(&device, 0), "cuDeviceGet");
    Check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    for (CUstream& stream : streams) Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    Check(cuMemAlloc(&buffer, kBytes), "cuMemAlloc");
    Check(cuMemsetD8(buffer, 0, kBytes), "cuMemsetD8");
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
    char name[256] = "";
    Check(cuDeviceGetName(name, sizeof(name), device), "cuDeviceGetName");
    device_name = name;
    raw = std::make_unique<RawKernel>(source, device);
  }

  CUstream stream(int lane) const { return streams[static_cast<std::size_t>(lane)]; }

  /// The launch by hand; with `waits`, and the wait for its end.
  Way Raw(bool waits) const {
    return {"raw", 1, waits, [this, waits](int lane, int count) {
              for (int i = 0; i < count; ++i) {
                raw->Launch(stream(lane), buffer, kFirstSize);
                if (waits) Check(cuStreamSynchronize(stream(lane)), "cuStreamSynchronize");
              }
            }};
  }
  /// The ways, against each other, in `threads` threads.
  std::vector<std::string> Compare(const std::vector<Way>& ways, int threads) const {
    auto enter = [this](int) {
      Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
      return std::shared_ptr<void>();
    };
    return peers::Compare(ways, threads, enter,
                          [this](int lane) { Check(cuStreamSynchronize(stream(lane)), "cuStreamSynchronize"); });
  }

  static constexpr std::size_t kBytes = static_cast<std::size_t>(kFirstSize + kMostKeys) * sizeof(float);

  const std::string source;
  std::string device_name;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr buffer = 0;
  std::vector<CUstream> streams;
  std::unique_ptr<RawKernel> raw;
};

}  // namespace peers

#endif  // TUNEONCE_BENCHMARKS_PEERS_GPU_BENCH_H_
