#include "shared/kernel_list.h"

#include <unistd.h>

#include <utility>

namespace tuneonce {
inline namespace v0 {

KernelList::Listed::Listed(KernelList& list, std::string kernel, std::function<Counters()> counters)
    : list_(list), owner_(getpid()) {
  MutexLock lock(list_.mutex_);
  number_ = list_.num_added_++;
  list_.entries_.emplace(number_, Entry{std::move(kernel), std::move(counters)});
}

KernelList::Listed::~Listed() {
  if (getpid() != owner_) return;
  MutexLock lock(list_.mutex_);
  list_.entries_.erase(number_);
}

std::vector<KernelCounters> KernelList::Read() const {
  std::vector<KernelCounters> all;
  MutexLock lock(mutex_);
  for (const auto& [number, entry] : entries_) all.push_back({entry.kernel, entry.counters()});
  return all;
}

}  // namespace v0
}  // namespace tuneonce
