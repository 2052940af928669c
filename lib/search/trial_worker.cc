#include "search/trial_worker.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/deadline.h"
#include "base/environment.h"
#include "base/span.h"
#include "compile/toolbox.h"
#include "cuda/driver_api.h"
#include "tuneonce/autotune_policy.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// A context takes a tenth of a second, on a machine with many devices or a cold disk a hundred times that.
constexpr milliseconds kMostToOpen{60000};
constexpr milliseconds kMostToSend{10000};
constexpr milliseconds kMostToEnd{1000};
/// How often a user is asked whether to go on.
constexpr milliseconds kSlice{20};
/// A usual round's duration. Its answer is waited for without sleeping, as the driver waits for a kernel, because a
/// thread needs a tenth of a millisecond to wake up. Not used where kernels compute on the cores that would spin.
constexpr std::chrono::microseconds kSpinForAnswer{2000};
constexpr int kLaunchTimeout = 702;  // CUDA_ERROR_LAUNCH_TIMEOUT

/// Returns the variables that the worker's Runtime needs to use the same device and timer as this one.
std::vector<std::pair<std::string, std::string>> EnvironmentOf(const Environment& environment,
                                                               const DriverApi& driver) {
  std::vector<std::pair<std::string, std::string>> variables = {
      {driver.is_cpu_device() ? "TUNEONCE_CPU_DRIVER" : "TUNEONCE_CUDA_DRIVER", driver.library_path()},
      {"TUNEONCE_CUPTI", environment.cupti},
      {"CUDA_INJECTION64_PATH", environment.profiler},
      {"TMPDIR", environment.temporary_folder},
      {"TUNEONCE_STORE", "memory"},
      {"TUNEONCE_CPU_DEVICES", std::to_string(environment.cpu_devices)}};
  if (environment.cpu_memory_mib > 0) {
    variables.emplace_back("TUNEONCE_CPU_MEMORY_MIB", std::to_string(environment.cpu_memory_mib));
  }
  return variables;
}

std::string NameOf(const Device& device) {
  return absl::StrCat(device.api().is_cpu_device() ? "cpu:" : "cuda:", device.index());
}

/// Returns why a worker has no context, with the number of processes that use the device if known.
Status Refused(const Status& why, const Device& device) {
  Result<int> mode = device.Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  const bool is_exclusive = mode.ok() && *mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
  const char* hint = is_exclusive ? " (the device is in EXCLUSIVE_PROCESS mode, which admits one process)" : "";
  return Status(why.code(), absl::StrCat("the worker cannot use the device", hint, ": ", why.message()));
}

/// In traces.
const char* NameOf(TrialMessage kind) {
  static constexpr const char* kNames[] = {"",
                                           "open",
                                           "begin a search",
                                           "allocate inputs",
                                           "set up",
                                           "prepare",
                                           "run a round",
                                           "verify again",
                                           "release",
                                           "time in another way",
                                           "end the search",
                                           "ping",
                                           "verify",
                                           "run a burst"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(TrialMessage::kBurst) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string PlaceOf(const Device& device) { return absl::StrCat(device.api().library_path(), " ", NameOf(device)); }

}  // namespace

Result<std::unique_ptr<WorkerProcess>> TrialWorker::Start(const Runtime& runtime, const Device& device) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  WorkerOptions options;
  TUNEONCE_ASSIGN_OR_RETURN(options.program, FindWorker(runtime.environment()));
  options.environment = runtime.environment().of_worker;
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<WorkerProcess> process, WorkerProcess::Start(options));
  OpenRequest request;
  request.environment = EnvironmentOf(runtime.environment(), device.api());
  request.device = NameOf(device);
  request.uuid = identity.UuidString();
  // If the process is gone already, the missing first answer shows it.
  (void)process->channel().Send(static_cast<std::uint32_t>(TrialMessage::kOpen), EncodeMessage(request),
                                DeadlineIn(kMostToSend));
  return process;
}

void TrialWorker::Announce(const std::shared_ptr<Runtime>& runtime, const Device& device) {
  if (runtime->idle_workers().Has(PlaceOf(device))) return;
  Result<std::unique_ptr<WorkerProcess>> process = Start(*runtime, device);
  if (process.ok()) runtime->idle_workers().Put(PlaceOf(device), {*std::move(process), /*is_open=*/false});
}

Result<std::unique_ptr<TrialWorker>> TrialWorker::Reserve(const std::shared_ptr<Runtime>& runtime,
                                                          const Device& device) {
  std::unique_ptr<TrialWorker> worker(new TrialWorker(runtime, PlaceOf(device)));
  if (worker->TakeIdle()) return worker;
  TUNEONCE_ASSIGN_OR_RETURN(worker->process_, Start(*runtime, device));
  worker->pid_ = worker->process_->pid();
  return worker;
}

bool TrialWorker::TakeIdle() {
  std::optional<IdleWorkers::Worker> idle = runtime_->idle_workers().Take(device_);
  process_ = idle ? std::move(idle->process) : nullptr;
  is_open_ = idle && idle->is_open;
  pid_ = process_ != nullptr ? process_->pid() : 0;
  taken_ = Trace::Clock::now();
  return idle.has_value();
}

Status TrialWorker::AwaitReady(const Device& device, const SearchOptions& options) {
  Span span(&runtime_->trace(), "wait", "wait for a worker");
  while (is_open_) {
    Status lives = Ask(TrialMessage::kEnd, "", kMostToEnd, options).status();
    if (lives.ok() || lives.code() == StatusCode::kCancelled) return lives;
    TakeIdle();
  }
  Status opened = Open(device, options);
  // Others may have ended it; the worker itself answers.
  if (loss_ && loss_->may_be_by_others) opened = Open(device, options);
  is_open_ = opened.ok();
  if (is_open_ && !device.api().is_cpu_device()) process_->channel().SpinFor(kSpinForAnswer);
  return opened;
}

Result<std::unique_ptr<TrialWorker>> TrialWorker::Take(const std::shared_ptr<Runtime>& runtime, const Device& device,
                                                       const SearchOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<TrialWorker> worker, Reserve(runtime, device));
  TUNEONCE_RETURN_IF_ERROR(worker->AwaitReady(device, options));
  return worker;
}

Status TrialWorker::Open(const Device& device, const SearchOptions& options) {
  loss_.reset();
  if (process_ == nullptr) {
    taken_ = Trace::Clock::now();
    TUNEONCE_ASSIGN_OR_RETURN(process_, Start(*runtime_, device));
    pid_ = process_->pid();
  }
  Result<Frame> answer = Receive(DeadlineIn(kMostToOpen), options);
  if (answer.status().code() == StatusCode::kCancelled) return answer.status();
  if (!answer.ok()) {
    return UnavailableError("the worker did not start: it " + Lose(answer.status(), kMostToOpen).message());
  }
  TUNEONCE_ASSIGN_OR_RETURN(TrialReply reply, DecodeMessage<TrialReply>(answer->body));
  TraceSince(taken_, "start");
  return reply.status.ok() ? Status() : Refused(reply.status, device);
}

Status TrialWorker::Lose(OutcomeKind kind, std::string how) {
  process_ = nullptr;
  TraceSince(Trace::Clock::now(), "lost: it " + how);
  loss_ = Loss{kind, std::move(how)};
  return InternalError(loss_->how);
}

Status TrialWorker::Lose(const Status& error, milliseconds most) {
  switch (ChannelErrorOf(error).value_or(ChannelError::kClosed)) {
    case ChannelError::kTimeout:
      return Lose(OutcomeKind::kTimeout, absl::StrCat("did not finish within ", most.count(), " ms"));
    case ChannelError::kProtocol:
      return Lose(OutcomeKind::kProtocol, absl::StrCat("gave no answer: ", error.message()));
    case ChannelError::kClosed:
      break;
  }
  // Its end of the socket is closed; the process is about to be gone.
  const WorkerEnd end = process_->Kill();
  Status lost = Lose(OutcomeKind::kCrash, end.ToString());
  loss_->may_be_by_others = end.kind == WorkerEnd::Kind::kSignaled && end.number == SIGKILL;
  return lost;
}

Result<Frame> TrialWorker::Receive(Deadline end, const SearchOptions& options) {
  const bool asks = options.stop.stop_possible();
  for (;;) {
    const Deadline next = asks ? std::min(end, DeadlineIn(kSlice)) : end;
    Result<Frame> answer = process_->channel().Receive(next);
    const bool is_slice = next < end && ChannelErrorOf(answer.status()) == ChannelError::kTimeout;
    if (answer.ok() || !is_slice) return answer;
    if (!options.stop.stop_requested()) continue;
    process_ = nullptr;
    TraceSince(Trace::Clock::now(), "ended: the search was cancelled");
    return CancelledError("the search was cancelled");
  }
}

Result<TrialReply> TrialWorker::Ask(TrialMessage kind, const std::string& body, milliseconds most,
                                    const SearchOptions& options, const std::string& about) {
  if (process_ == nullptr) return InternalError("the worker process has ended");
  const auto began = Trace::Clock::now();
  Channel& channel = process_->channel();
  const Deadline end = most.count() > 0 ? DeadlineIn(most) : kNoDeadline;
  if (Status sent = channel.Send(static_cast<std::uint32_t>(kind), body, end); !sent.ok()) return Lose(sent, most);
  Result<Frame> answer = Receive(end, options);
  TraceSince(began, absl::StrCat(NameOf(kind), about.empty() ? "" : " ", about));
  if (answer.status().code() == StatusCode::kCancelled) return answer.status();
  if (!answer.ok()) return Lose(answer.status(), most);
  Result<TrialReply> reply = DecodeMessage<TrialReply>(answer->body);
  if (!reply.ok() || answer->kind != static_cast<std::uint32_t>(kind)) {
    return Lose(OutcomeKind::kProtocol, absl::StrCat("gave an invalid answer: ", reply.status().message()));
  }
  if (!reply->status.sticky()) return reply;
  const int code = reply->status.driver_code();
  return Lose(code == kLaunchTimeout ? OutcomeKind::kTimeout : OutcomeKind::kCrash,
              absl::StrCat("crashed with ", code, ": ", reply->status.message()));
}

void TrialWorker::Tell(TrialMessage kind, const std::string& body) {
  if (process_ == nullptr) return;
  Status sent = process_->channel().Send(static_cast<std::uint32_t>(kind), body, DeadlineIn(kMostToSend));
  if (!sent.ok()) (void)Lose(sent, kMostToSend);
}

void TrialWorker::TraceSince(Trace::Clock::time_point began, const std::string& what) const {
  Trace& trace = runtime_->trace();
  if (!trace.is_on()) return;
  const auto* of_process = reinterpret_cast<const void*>(static_cast<std::intptr_t>(pid_));
  const std::int64_t track = trace.TrackOf(of_process, absl::StrCat("worker ", pid_));
  trace.Add({what, "worker", began, Trace::Clock::now() - began, track, {}});
}

void TrialWorker::GiveBack() {
  const SearchOptions none;
  if (process_ == nullptr || (is_open_ && !Ask(TrialMessage::kEnd, "", kMostToEnd, none).ok())) return;
  TraceSince(Trace::Clock::now(), "given back");
  runtime_->idle_workers().Put(device_, {std::move(process_), is_open_});
}

}  // namespace v0
}  // namespace tuneonce
