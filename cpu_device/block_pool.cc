#include "block_pool.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "fault_guard.h"

namespace tuneonce::cpu_device {
namespace {

/// Shared memory of the block that this thread runs; one block at a time.
void* SharedMemory(std::size_t bytes) {
  thread_local std::vector<char> storage;
  constexpr std::size_t kAlignment = 128;
  if (storage.size() < bytes + kAlignment) storage.resize(bytes + kAlignment);
  auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

BlockPool& BlockPool::Get() {
  static BlockPool* const pool = new BlockPool;  // Never destroyed: its threads outlive static destruction.
  return *pool;
}

BlockPool::BlockPool() {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  // As many threads as the system allows, because the caller of Run works too.
  try {
    for (unsigned i = 1; i < cores; ++i) std::thread([this] { WorkerLoop(); }).detach();
  } catch (const std::system_error&) {
  }
}

void BlockPool::WorkerLoop() {
  try {
    PrepareThreadForFaults();
  } catch (const std::bad_alloc&) {
    return;  // The pool continues with one worker less.
  }
  MutexLock lock(mutex_);
  for (;;) {
    while (jobs_.empty()) work_arrived_.Wait(lock);
    std::shared_ptr<Job> job = jobs_.front();
    if (job->next.load() >= job->num_blocks) {
      jobs_.pop_front();  // All blocks were taken. The threads that work on them finish the job.
      continue;
    }
    ++job->workers;
    lock.Unlock();
    Work(*job);
    lock.Lock();
    if (--job->workers == 0) worker_left_.NotifyAll();
  }
}

void BlockPool::End(Job& job, CUresult fault) {
  int none = CUDA_SUCCESS;
  job.fault.compare_exchange_strong(none, fault);
  job.next.store(job.num_blocks);
}

void BlockPool::Work(Job& job) {
  tuneonce_block block = job.run.shape;
  try {
    block.shared = SharedMemory(block.shared_bytes);
  } catch (const std::bad_alloc&) {
    return End(job, CUDA_ERROR_OUT_OF_MEMORY);
  }
  for (;;) {
    std::uint64_t begin = job.next.fetch_add(job.chunk);
    if (begin >= job.num_blocks) return;
    std::uint64_t end = std::min(job.num_blocks, begin + job.chunk);
    for (std::uint64_t i = begin; i < end; ++i) {
      block.x = static_cast<unsigned>(i % block.grid_x);
      block.y = static_cast<unsigned>(i / block.grid_x % block.grid_y);
      block.z = static_cast<unsigned>(i / block.grid_x / block.grid_y);
      if (CUresult fault = RunGuarded(*job.run.kernel, block, job.run.parameters); fault != CUDA_SUCCESS) {
        return End(job, fault);
      }
    }
  }
}

CUresult BlockPool::Run(const BlockRun& run) {
  PrepareThreadForFaults();
  auto job = std::make_shared<Job>();
  job->run = run;
  job->num_blocks = static_cast<std::uint64_t>(run.shape.grid_x) * run.shape.grid_y * run.shape.grid_z;
  // About 8 chunks a core: balance without a contended counter.
  job->chunk = std::max<std::uint64_t>(1, job->num_blocks / (8 * std::max(1u, std::thread::hardware_concurrency())));
  if (job->num_blocks > 1) {
    MutexLock lock(mutex_);
    jobs_.push_back(job);
    work_arrived_.NotifyAll();
  }
  Work(*job);
  MutexLock lock(mutex_);
  jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
  while (job->workers != 0) worker_left_.Wait(lock);
  return static_cast<CUresult>(job->fault.load());
}

}  // namespace tuneonce::cpu_device
