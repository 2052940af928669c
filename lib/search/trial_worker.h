#ifndef TUNEONCE_LIB_SEARCH_TRIAL_WORKER_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_WORKER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/trace.h"
#include "search/trial_description.h"
#include "search/trial_messages.h"
#include "search/trial_tensors.h"
#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"
#include "worker/channel.h"
#include "worker/idle_workers.h"

namespace tuneonce {
inline namespace v0 {

/// The addresses of a search's tensors in one worker. Tensors that trials read are copied there once. Tensors that they
/// only write have an address without memory, because trials write scratch. Tensors that share memory share it there
/// too. Thread rule: one thread.
class WorkerTensors {
 public:
  /// Memory of the worker's.
  struct Block {
    std::uint64_t address = 0;  ///< There.
    std::string handle;         ///< For ImportedBlock.
  };
  using Allocate = std::function<Result<Block>(std::size_t bytes)>;

  /// Makes sure that these ranges have an address, and returns one per range. Waits for the stream, in whose order the
  /// copies are made. Errors: those of `allocate`; the driver's.
  Result<std::vector<std::uint64_t>> Place(const std::vector<TensorRange>& ranges, const Allocate& allocate,
                                           StreamView stream);
  /// Places the tensors of a candidate's description, which then have their addresses in the worker.
  Status Place(const Candidate& candidate, const Allocate& allocate, StreamView stream, TrialDescription* description);

  /// Bytes that a call's tensors take in a worker.
  static std::size_t BytesFor(const std::vector<TensorRange>& ranges);

 private:
  using Key = std::tuple<CUdeviceptr, CUdeviceptr, bool>;  // Begin, end, read.
  static Key KeyOf(const TensorRange& range) { return {range.begin, range.end, range.read}; }

  std::map<Key, std::uint64_t> places_;
  std::uint64_t next_unread_ = std::uint64_t{1} << 62;  // Beyond all memory.
};

/// A worker with a context on one device, and a host's talk with it. Ended with this object, unless it is given back.
/// Thread rule: one thread.
class TrialWorker {
 public:
  /// How it was lost.
  struct Loss {
    OutcomeKind kind = OutcomeKind::kCrash;
    std::string how;  ///< "crashed with 700: ...", "was ended by signal 9 (SIGKILL)".
    /// Others may have done it: the system, where memory is short, or a person.
    bool may_be_by_others = false;
  };

  /// Takes an idle worker of the Runtime, or starts a new one in the background; AwaitReady must be called before
  /// anything else. Errors: FailedPrecondition or Unavailable if none can be started, for example without an
  /// executable.
  static Result<std::unique_ptr<TrialWorker>> Reserve(const std::shared_ptr<Runtime>& runtime, const Device& device);
  /// Waits until the worker has its context, and starts another one if an idle one died. Errors: Unavailable if it
  /// cannot have a context (a device for one process, no memory); Cancelled by `options`.
  Status AwaitReady(const Device& device, const SearchOptions& options);
  /// Reserve and AwaitReady.
  static Result<std::unique_ptr<TrialWorker>> Take(const std::shared_ptr<Runtime>& runtime, const Device& device,
                                                   const SearchOptions& options);
  /// Starts a worker that the next Reserve will find, unless there is one; does not wait. Errors are Take's to tell.
  static void Announce(const std::shared_ptr<Runtime>& runtime, const Device& device);
  TrialWorker(const TrialWorker&) = delete;
  TrialWorker& operator=(const TrialWorker&) = delete;

  /// Sends a request and waits for the answer, whose own `status` may be an error. `most` is the longest wait, where 0
  /// is unlimited. `about` describes the request in a trace. Errors: the worker was lost and has been ended (`loss`
  /// states how); Cancelled by `options`, after which it has been ended too.
  Result<TrialReply> Ask(TrialMessage kind, const std::string& body, std::chrono::milliseconds most,
                         const SearchOptions& options, const std::string& about = "");
  /// Sends a message that has no answer.
  void Tell(TrialMessage kind, const std::string& body);
  /// Since when it is no more.
  const std::optional<Loss>& loss() const { return loss_; }
  bool is_alive() const { return process_ != nullptr; }

  /// Ends the search in it, if it was ready for one, and leaves it to the next one. Waits a second at most.
  void GiveBack();

 private:
  TrialWorker(std::shared_ptr<Runtime> runtime, std::string device) : runtime_(std::move(runtime)), device_(device) {}
  static Result<std::unique_ptr<WorkerProcess>> Start(const Runtime& runtime, const Device& device);
  /// Takes an idle worker of the Runtime. Returns false without one.
  bool TakeIdle();
  /// Starts a worker unless one is running, and waits until it has its context.
  Status Open(const Device& device, const SearchOptions& options);
  /// The next answer. Errors: the channel's; Cancelled: the worker has been ended.
  Result<Frame> Receive(Deadline end, const SearchOptions& options);
  Status Lose(OutcomeKind kind, std::string how);
  /// Adds what the worker did since `began` to its own line of the trace, if that is on.
  void TraceSince(Trace::Clock::time_point began, const std::string& what) const;
  /// Converts an error of the channel.
  Status Lose(const Status& error, std::chrono::milliseconds most);

  const std::shared_ptr<Runtime> runtime_;
  const std::string device_;  ///< Under which idle ones are kept.
  std::unique_ptr<WorkerProcess> process_;
  pid_t pid_ = 0;                                         ///< The process's, also when it is no more.
  Trace::Clock::time_point taken_ = Trace::Clock::now();  ///< Since when it starts, or is ours.
  bool is_open_ = false;                                  ///< The worker has answered that it has its context.
  std::optional<Loss> loss_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_WORKER_H_
