#ifndef TUNEONCE_CPU_DEVICE_BLOCK_POOL_H_
#define TUNEONCE_CPU_DEVICE_BLOCK_POOL_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/cpu_kernel.h"
#include "base/mutex.h"

namespace tuneonce::cpu_device {

/// One kernel launch for the pool. `parameters` points to `num_parameters` values that outlive the run.
struct BlockRun {
  const tuneonce_kernel* kernel = nullptr;
  tuneonce_block shape{};  ///< Everything but the block's index and its shared memory.
  void* const* parameters = nullptr;
};

/// Runs the blocks of kernels on all cores. Kernels of several streams run at the same time. The caller of Run works
/// too, so that a pool of one core needs no other thread. Thread-safe. Never destroyed.
class BlockPool {
 public:
  static BlockPool& Get();

  /// Runs every block and returns when all are done: CUDA_SUCCESS, or the first fault (the remaining blocks are
  /// dropped then).
  CUresult Run(const BlockRun& run);

 private:
  struct Job {
    BlockRun run;
    std::uint64_t num_blocks = 0;
    std::uint64_t chunk = 1;  // Blocks taken at a time.
    std::atomic<std::uint64_t> next{0};
    std::atomic<int> fault{CUDA_SUCCESS};
    int workers = 0;  // Threads inside this job; guarded by the pool's mutex.
  };

  BlockPool();
  void WorkerLoop();
  static void Work(Job& job);
  /// Drops the blocks that are left: `fault`, if it is the first.
  static void End(Job& job, CUresult fault);

  Mutex mutex_;
  ConditionVariable work_arrived_;
  ConditionVariable worker_left_;
  std::deque<std::shared_ptr<Job>> jobs_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_BLOCK_POOL_H_
