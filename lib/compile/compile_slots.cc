#include "compile/compile_slots.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How soon one who waits notices that it is over.
constexpr std::chrono::milliseconds kPoll(10);

/// The words of a file of the system's; none if it cannot be read. Not by streams: where libstdc++ is linked statically
/// (portable wheels do), theirs break in a process that has another one.
std::vector<std::string> WordsOf(const char* path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return {};
  return absl::StrSplit(*text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
}

int UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  int allowed = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
  // A container's share of time (cgroup v2): "max 100000" or "150000 100000".
  std::vector<std::string> share = WordsOf("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (share.size() == 2 && absl::SimpleAtod(share[0], &quota) && absl::SimpleAtod(share[1], &period) && period > 0) {
    allowed = std::min(allowed, std::max(1, static_cast<int>(quota / period)));
  }
  return allowed;
}

/// Memory that can be had without swapping: the machine's, or what the container's limit leaves if that is less.
std::int64_t AvailableMemoryBytes() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> memory = WordsOf("/proc/meminfo");
  auto name = std::find(memory.begin(), memory.end(), "MemAvailable:");
  std::int64_t kib = 0;
  if (memory.end() - name > 1 && absl::SimpleAtoi(name[1], &kib)) available = kib * 1024;
  std::vector<std::string> limit = WordsOf("/sys/fs/cgroup/memory.max");  // "max", or bytes.
  std::vector<std::string> used = WordsOf("/sys/fs/cgroup/memory.current");
  std::int64_t limit_bytes = 0;
  std::int64_t used_bytes = 0;
  if (!limit.empty() && !used.empty() && absl::SimpleAtoi(limit[0], &limit_bytes) &&
      absl::SimpleAtoi(used[0], &used_bytes)) {
    available = std::min(available, limit_bytes - used_bytes);
  }
  return available;
}

}  // namespace

CompileSlots::CompileSlots(int limit)
    : is_given_(limit > 0), limit_(is_given_ ? limit : std::max(1, UsableCores() - 1)) {}

int CompileSlots::LimitFor(std::int64_t memory_per_compile_bytes) const {
  if (is_given_) return limit_;
  std::int64_t by_memory = AvailableMemoryBytes() / std::max<std::int64_t>(1, memory_per_compile_bytes);
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(limit_, by_memory)));
}

CompileSlots::Slot CompileSlots::Acquire(int most, const std::function<bool()>& is_over) {
  MutexLock lock(mutex_);
  const int bound = std::min(most, limit_);
  const std::uint64_t ticket = ++last_ticket_;
  waiting_.push_back(ticket);
  while (waiting_.front() != ticket || running_ >= bound) {
    lock.Unlock();  // Others need not wait for an answer.
    bool gives_up = is_over();
    lock.Lock();
    if (gives_up) {
      waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
      changed_.NotifyAll();
      return nullptr;
    }
    if (waiting_.front() != ticket || running_ >= bound) changed_.WaitFor(lock, kPoll);
  }
  waiting_.pop_front();
  ++running_;
  changed_.NotifyAll();
  lock.Unlock();
  return Slot(this, [](CompileSlots* slots) { slots->Release(); });
}

void CompileSlots::Release() {
  MutexLock lock(mutex_);
  --running_;
  changed_.NotifyAll();
}

}  // namespace v0
}  // namespace tuneonce
