#ifndef TUNEONCE_CPU_DEVICE_STREAM_H_
#define TUNEONCE_CPU_DEVICE_STREAM_H_

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "capture_mutex.h"
#include "event.h"

namespace tuneonce::cpu_device {

struct Capture;
struct Context;
class Stream;

/// One piece of work. It can be enqueued on a stream, or be part of a graph that is launched any number of times.
struct Command {
  CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<CUresult()> run;      ///< May be empty (event records, waits).
  std::shared_ptr<Event> record;      ///< Completed when the stream gets here.
  std::function<bool()> is_loadable;  ///< For kernels: false once their module was unloaded. May be empty.
};

/// An in-order queue with a thread of its own. Thread-safe.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  /// `is_blocking`: ordered with the legacy stream, as streams made without CU_STREAM_NON_BLOCKING are.
  static std::shared_ptr<Stream> Create(std::shared_ptr<Context> context, bool is_blocking);

  /// Adds work. `before` runs first in stream order (waits for other streams or events). Returns its number.
  std::uint64_t Push(std::vector<std::shared_ptr<const Command>> commands, std::function<void()> before = nullptr);
  std::uint64_t last_pushed() const;
  /// Waits until everything pushed so far is done.
  void WaitIdle() const { WaitFor(last_pushed()); }
  void WaitFor(std::uint64_t number) const;
  bool IsIdle() const;
  /// Accepts no more work. The thread ends after the queued work.
  void Close();

  const std::shared_ptr<Context>& context() const { return context_; }
  bool is_blocking() const { return is_blocking_; }

  /// The capture this stream takes part in, or null.
  std::shared_ptr<Capture> capture TUNEONCE_GUARDED_BY(capture_mutex);

 private:
  struct Entry {
    std::vector<std::shared_ptr<const Command>> commands;
    std::vector<std::uint64_t> tickets;  // Tickets of the commands that record an event, in order.
    std::function<void()> before;
  };

  Stream(std::shared_ptr<Context> context, bool is_blocking)
      : context_(std::move(context)), is_blocking_(is_blocking) {}
  void Loop();
  void Execute(const Entry& entry);

  const std::shared_ptr<Context> context_;
  const bool is_blocking_;
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::deque<Entry> queue_ TUNEONCE_GUARDED_BY(mutex_);
  std::uint64_t pushed_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  bool closed_ TUNEONCE_GUARDED_BY(mutex_) = false;
};

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_STREAM_H_
