// Compiled by guarded.sh, with and without a mistake: whether clang's -Wthread-safety finds it.
#include "base/mutex.h"

namespace tuneonce {
namespace {

class Counter {
 public:
  int Add() {
#ifndef TUNEONCE_READS_WITHOUT_THE_LOCK
    MutexLock lock(mutex_);
#endif
    return ++count_;
  }
  int WaitForOne() {
    MutexLock lock(mutex_);
    while (count_ == 0) changed_.Wait(lock);
#ifdef TUNEONCE_READS_AFTER_UNLOCK
    lock.Unlock();
#endif
    return count_;
  }
  int AddTwice() {
#ifndef TUNEONCE_CALLS_WITHOUT_THE_LOCK
    MutexLock lock(mutex_);
#endif
    AddLocked();
    return Locked();
  }

 private:
  void AddLocked() TUNEONCE_REQUIRES(mutex_) { ++count_; }
  int Locked() const TUNEONCE_REQUIRES(mutex_) { return count_; }

  Mutex mutex_;
  ConditionVariable changed_;
  int count_ TUNEONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace
}  // namespace tuneonce

int main() {
  tuneonce::Counter counter;
  return counter.Add() + counter.WaitForOne() + counter.AddTwice();
}
