#include "search/trial_server.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "cuda/driver_api.h"
#include "cuda/ipc_memory.h"
#include "measure/cupti_timer.h"
#include "search/in_process_runner.h"
#include "search/trial_description.h"
#include "search/trial_memory.h"
#include "search/trial_messages.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A device with a context.
struct Place {
  std::shared_ptr<Runtime> runtime;
  Context context;
  Target target;
  ScopedContext current;
  /// Claimed as long as the worker lives: to claim it takes 6 to 10 ms, to let go of it 2, for each search. Empty where
  /// trials are timed by events, which would hold what CUPTI adds to a launch.
  std::optional<TimingBurst> cupti;

  Place(std::shared_ptr<Runtime> shared_runtime, Context own_context, const Target& device_target)
      : runtime(std::move(shared_runtime)),
        context(std::move(own_context)),
        target(device_target),
        current(context.view()) {}
  const DriverApi& api() const { return context.device().api(); }
};

/// A search of this server.
struct Search {
  struct Inputs {
    TrialMemory::Charge charge;
    ExportedBlock block;
  };
  struct Trial {
    std::unique_ptr<DescribedTrial> described;
    PreparedTrial prepared;
  };

  Stream stream;
  TrialMemory memory;
  SearchOptions options;
  std::unique_ptr<Timer> timer;  // Where it is not the usual one.
  std::vector<Inputs> inputs;
  std::vector<Inputs> inputs_to_verify;  // The inputs of the next kVerify.
  std::map<std::uint64_t, Trial> trials;
  std::optional<InProcessRunner> runner;  // Uses all of the above.

  Search(Stream own_stream, TrialMemory account) : stream(std::move(own_stream)), memory(std::move(account)) {}
};

/// The host decides upon a round's times faster than a sleeping thread wakes.
constexpr std::chrono::microseconds kSpinForQuestion{200};

Status OutOfOrder() { return InternalError("the worker received a request out of order"); }

template <typename Message, typename Function>
auto With(const Frame& question, const Function& function) -> decltype(function(std::declval<Message>())) {
  Result<Message> message = DecodeMessage<Message>(question.body);
  if (!message.ok()) return message.status();
  return function(*std::move(message));
}

/// Returns the outcome of a trial without its code.
TrialReply ReplyOf(const PreparedTrial& prepared) {
  TrialReply reply;
  reply.status = prepared.fatal;
  reply.failure = prepared.failure;
  reply.warmup_us = prepared.warmup_us;
  reply.largest_difference = prepared.largest_difference;
  reply.num_dissenting = prepared.num_dissenting;
  return reply;
}

Result<TrialReply> ReplyOf(const Status& status) {
  TUNEONCE_RETURN_IF_ERROR(status);
  return TrialReply();
}

/// The state of ServeTrials.
class TrialServer {
 public:
  explicit TrialServer(Channel& channel) : channel_(channel) {}

  Status Serve() {
    for (;;) {
      TUNEONCE_ASSIGN_OR_RETURN(Frame question, channel_.Receive(kNoDeadline));
      // Candidates' exceptions are caught where they run, so any other is a lack of memory or threads.
      Result<TrialReply> answered = CallForeign("the worker", StatusCode::kInternal, [&] { return Answer(question); });
      if (question.kind == static_cast<std::uint32_t>(TrialMessage::kRelease)) {
        if (answered.ok()) continue;
        return answered.status();  // The host finds out when it asks for more.
      }
      TrialReply reply;
      if (answered.ok()) {
        reply = *std::move(answered);
      } else {
        reply.status = answered.status();
      }
      if (search_ != nullptr && search_->runner) {
        RunnerReport report = search_->runner->Report();
        reply.timer = std::move(report.timer);
        reply.notes = std::move(report.notes);
        reply.num_launches = report.num_launches;
        reply.peak_bytes = report.peak_bytes;
      }
      TUNEONCE_RETURN_IF_ERROR(channel_.Send(question.kind, EncodeMessage(reply), kNoDeadline));
      if (reply.status.sticky()) return reply.status;
    }
  }

 private:
  Result<TrialReply> Answer(const Frame& question) {
    const auto kind = static_cast<TrialMessage>(question.kind);
    if (kind == TrialMessage::kOpen) {
      return With<OpenRequest>(question, [&](const OpenRequest& r) { return ReplyOf(Open(r)); });
    }
    if (place_ == nullptr) return OutOfOrder();
    if (kind == TrialMessage::kBegin) {
      return With<BeginRequest>(question, [&](const BeginRequest& r) { return ReplyOf(Begin(r)); });
    }
    if (kind == TrialMessage::kEnd) return ReplyOf(End());
    if (kind == TrialMessage::kPing) return TrialReply();
    if (search_ == nullptr) return OutOfOrder();
    if (kind == TrialMessage::kAllocate) {
      return With<AllocateRequest>(question, [&](const AllocateRequest& r) { return Allocate(r); });
    }
    if (kind == TrialMessage::kSetUp) {
      return With<SetUpRequest>(question, [&](const SetUpRequest& r) { return ReplyOf(SetUp(r)); });
    }
    if (!search_->runner) return OutOfOrder();
    switch (kind) {
      case TrialMessage::kPrepare:
        return With<PrepareRequest>(question, [&](PrepareRequest r) { return Prepare(std::move(r)); });
      case TrialMessage::kSample:
        return With<SampleRequest>(question, [&](const SampleRequest& r) { return Sample(r); });
      case TrialMessage::kCheckAgain:
        return With<TrialRequest>(question, [&](const TrialRequest& r) { return CheckAgain(r); });
      case TrialMessage::kVerify:
        return With<VerifyRequest>(question, [&](VerifyRequest r) { return Verify(std::move(r)); });
      case TrialMessage::kBurst:
        return With<BurstRequest>(question, [&](const BurstRequest& r) { return ReplyOf(Burst(r)); });
      case TrialMessage::kRelease:
        return With<TrialRequest>(question, [&](const TrialRequest& r) { return ReplyOf(Release(r)); });
      case TrialMessage::kTimeInAnotherWay: {
        place_->cupti.reset();  // The timer uses events from now on, or fails.
        TrialReply reply;
        reply.is_done = search_->runner->TimeInAnotherWay();
        return reply;
      }
      default:
        return OutOfOrder();
    }
  }
  Status Open(const OpenRequest& request) {
    if (place_ != nullptr) return OutOfOrder();
    RuntimeOptions options;
    options.environment.insert(request.environment.begin(), request.environment.end());
    TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<Runtime> runtime, Runtime::Create(std::move(options)));
    TUNEONCE_ASSIGN_OR_RETURN(Device device, runtime->OpenDevice(request.device));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
    if (identity.UuidString() != request.uuid) {
      return UnavailableError(absl::StrCat("in the worker process ", request.device, " is the GPU ",
                                           identity.UuidString(), ", but the search uses ", request.uuid));
    }
    TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
    auto place = std::make_unique<Place>(std::move(runtime), std::move(context), Target::Of(identity));
    TUNEONCE_RETURN_IF_ERROR(place->current.status());
    if (!place->api().is_cpu_device()) channel_.SpinFor(kSpinForQuestion);
    place_ = std::move(place);
    return Status();
  }
  Status Begin(const BeginRequest& request) {
    TUNEONCE_RETURN_IF_ERROR(End());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(place_->api()));
    const auto budget = std::max<std::uint64_t>(1, request.budget_bytes);
    TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(place_->api(), static_cast<std::size_t>(budget)));
    search_ = std::make_unique<Search>(std::move(stream), std::move(memory));
    return Status();
  }
  Result<TrialReply> Allocate(const AllocateRequest& request) {
    const auto bytes = static_cast<std::size_t>(request.bytes);
    TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Charge charge, search_->memory.Count(bytes));
    TUNEONCE_ASSIGN_OR_RETURN(ExportedBlock block, ExportedBlock::Allocate(place_->api(), bytes));
    search_->memory.Place(charge, block.address());
    TrialReply reply;
    reply.address = block.address();
    reply.handle = block.handle();
    auto& inputs = request.is_for_verify ? search_->inputs_to_verify : search_->inputs;
    inputs.push_back(Search::Inputs{std::move(charge), std::move(block)});
    return reply;
  }
  Status SetUp(const SetUpRequest& request) {
    if (search_->runner) return OutOfOrder();
    SearchOptions& options = search_->options;
    options.runtime = place_->runtime;
    options.quiet = true;
    options.verify = request.verify;
    options.cache = request.cache;
    for (const TrialDescription::Tensor& tensor : request.reference) options.reference.push_back(tensor.View());
    if (request.timing == TrialTiming::kEvents) {
      search_->timer = MakeEventTimer();
      place_->cupti.reset();
    } else if (!place_->cupti) {
      place_->cupti.emplace(place_->runtime->cupti(), place_->api());
    }
    if (request.timing == TrialTiming::kCupti) search_->timer = MakeCuptiTimer(place_->runtime);
    options.timer = search_->timer.get();
    search_->runner.emplace(search_->stream.view(), options, search_->memory, request.has_baseline);
    return Status();
  }
  Result<TrialReply> Prepare(PrepareRequest request) {
    Search::Trial trial;
    TUNEONCE_ASSIGN_OR_RETURN(trial.described, DescribedTrial::Create(std::move(request.trial), place_->target));
    trial.prepared = search_->runner->Prepare(trial.described->candidate(), request.is_baseline);
    trial.prepared.kernel = nullptr;                                         // The runner holds it.
    if (search_->runner->Report().timer == "events") place_->cupti.reset();  // CUPTI could not time it.
    TrialReply reply = ReplyOf(trial.prepared);
    if (reply.failure || !reply.status.ok()) return reply;
    reply.trial = trial.prepared.trial;
    search_->trials[reply.trial] = std::move(trial);
    return reply;
  }
  Result<TrialReply> Sample(const SampleRequest& request) {
    std::vector<std::size_t> trials;
    for (std::uint64_t trial : request.trials) {
      if (search_->trials.count(trial) == 0) return OutOfOrder();
      trials.push_back(static_cast<std::size_t>(trial));
    }
    TrialReply reply;
    TUNEONCE_ASSIGN_OR_RETURN(reply.times_us, search_->runner->Sample(trials));
    return reply;
  }
  Result<TrialReply> CheckAgain(const TrialRequest& request) {
    auto found = search_->trials.find(request.trial);
    if (found == search_->trials.end()) return OutOfOrder();
    return ReplyOf(search_->runner->CheckAgain(found->second.prepared));
  }
  Result<TrialReply> Verify(VerifyRequest request) {
    if (request.trials.empty()) return OutOfOrder();
    std::vector<std::unique_ptr<DescribedTrial>> described;
    std::vector<const Candidate*> candidates;
    for (TrialDescription& trial : request.trials) {
      TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<DescribedTrial> made,
                                DescribedTrial::Create(std::move(trial), place_->target));
      candidates.push_back(&made->candidate());
      described.push_back(std::move(made));
    }
    VerifiedTogether verified = search_->runner->VerifyTogether(candidates, request.first_is_reference);
    search_->inputs_to_verify.clear();
    TrialReply reply;
    reply.status = verified.fatal;
    for (std::size_t i = 0; i < verified.failures.size(); ++i) {
      if (!verified.failures[i]) continue;
      reply.failed.push_back(i);
      reply.failures.push_back(*std::move(verified.failures[i]));
    }
    return reply;
  }
  Status Burst(const BurstRequest& request) {
    if (search_->trials.count(request.trial) == 0) return OutOfOrder();
    return search_->runner->Burst(static_cast<std::size_t>(request.trial), request.launches);
  }
  Status Release(const TrialRequest& request) {
    auto found = search_->trials.find(request.trial);
    if (found == search_->trials.end()) return OutOfOrder();
    search_->runner->Release(static_cast<std::size_t>(request.trial));
    search_->trials.erase(found);
    return Status();
  }
  Status End() {
    if (search_ == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(search_->stream.view().Synchronize());
    search_ = nullptr;
    return Status();
  }

  Channel& channel_;
  std::unique_ptr<Place> place_;
  std::unique_ptr<Search> search_;  // Goes first.
};

}  // namespace

Status ServeTrials(Channel& channel) {
  static TrialServer server(channel);  // Never destroyed before the process ends.
  return server.Serve();
}

}  // namespace v0
}  // namespace tuneonce
