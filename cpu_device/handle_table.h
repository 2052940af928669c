#ifndef TUNEONCE_CPU_DEVICE_HANDLE_TABLE_H_
#define TUNEONCE_CPU_DEVICE_HANDLE_TABLE_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace tuneonce::cpu_device {

/// The live objects of one kind. A driver handle is the object's address, but is looked up here before use: a handle
/// that was destroyed or never existed is an error, not a crash. Thread-safe.
template <typename T>
class HandleTable {
 public:
  template <typename Handle>
  Handle Add(std::shared_ptr<T> object) {
    MutexLock lock(mutex_);
    T* address = object.get();
    objects_[address] = std::move(object);
    return reinterpret_cast<Handle>(address);
  }

  /// The object, or null.
  std::shared_ptr<T> Find(const void* handle) const {
    MutexLock lock(mutex_);
    auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
  }

  /// Takes the object out; null if it was not there.
  std::shared_ptr<T> Remove(const void* handle) {
    MutexLock lock(mutex_);
    auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

  std::vector<std::shared_ptr<T>> All() const {
    std::vector<std::shared_ptr<T>> all;
    MutexLock lock(mutex_);
    for (const auto& entry : objects_) all.push_back(entry.second);
    return all;
  }

  template <typename Predicate>
  void RemoveIf(Predicate matches) {
    std::vector<std::shared_ptr<T>> removed;  // Destroyed after the lock is gone.
    MutexLock lock(mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      if (matches(*it->second)) {
        removed.push_back(std::move(it->second));
        it = objects_.erase(it);
      } else {
        ++it;
      }
    }
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_HANDLE_TABLE_H_
