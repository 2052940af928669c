#include "shared/compile_pool.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <queue>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "base/span.h"
#include "compile/header_search.h"
#include "compile/precompiled.h"
#include "shared/compile_cached.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/plugin/wait_limits.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// Who is to blame for an exception.
constexpr char kToolchain[] = "the toolchain or the store";

}  // namespace

struct CompilePool::Impl {
  CompileSlots& slots;
  const int most_at_a_time;  // Compiles of all pools together, beyond which this one waits.
  const ToolchainSet& toolchains;
  const Target target;
  const std::vector<CompileJob> jobs;
  const CompileOptions options;
  Trace* const trace;  // May be null.
  const Clock::time_point start = Clock::now();
  std::atomic<bool> stopped{false};  // By the destructor, or because `options.stop` asked for it.
  mutable Mutex mutex;
  ConditionVariable changed;
  std::vector<std::vector<std::size_t>> groups;            // Jobs that ask for the same, in the order of the first.
  std::size_t num_started TUNEONCE_GUARDED_BY(mutex) = 0;  // Groups.
  std::queue<CompiledJob> finished TUNEONCE_GUARDED_BY(mutex);
  std::size_t num_handed_out TUNEONCE_GUARDED_BY(mutex) = 0;
  mutable std::map<Fingerprint, Status> lacking TUNEONCE_GUARDED_BY(mutex);  // See LackedBy.
  StopToken stop = &stopped;                                                 // What compiles look at.
  std::vector<std::shared_ptr<void>> announcements;                          // Toolchain::Announce
  std::vector<std::thread> workers;  // None if no thread could be made: then Next compiles.

  Impl(CompileSlots& compile_slots, const ToolchainSet& toolchain_set, const Target& compile_target,
       std::vector<CompileJob> compile_jobs, const CompileOptions& compile_options, Trace* event_trace)
      : slots(compile_slots),
        most_at_a_time(compile_options.num_workers > 0
                           ? compile_slots.limit()
                           : compile_slots.LimitFor(compile_options.memory_per_worker_bytes)),
        toolchains(toolchain_set),
        target(compile_target),
        jobs(std::move(compile_jobs)),
        options(compile_options),
        trace(event_trace) {}

  RecordStore& CacheOf(std::size_t job) const { return jobs[job].cache != nullptr ? *jobs[job].cache : *options.cache; }

  void Group() {
    std::map<std::pair<RecordStore*, Fingerprint>, std::size_t> group_of;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      Fingerprinter content;
      content.Add(std::uint64_t{jobs[job].may_compile});
      for (const CompileJob::Alternative& alternative : jobs[job].alternatives) {
        content.Add(alternative.source.Fingerprint());
        if (UsesHints(alternative)) content.Add(alternative.hints.Fingerprint());
      }
      auto [it, is_new] = group_of.emplace(std::pair(&CacheOf(job), content.Finish()), groups.size());
      if (is_new) groups.emplace_back();
      groups[it->second].push_back(job);
    }
  }

  /// True if a run of a front end is needed for the first way to build the job. Front ends that share runs would
  /// compile what the cache has along with what it lacks.
  bool NeedsFrontEnd(std::size_t job) const {
    const CompileJob::Alternative& first = jobs[job].alternatives.front();
    return first.source.kind() != SourceKind::kTileCpp ||
           !IsCompiled(toolchains, CacheOf(job), first.source.Whole(), first.hints, target);
  }

  /// Tells each toolchain what it will be asked for first, in the order in which jobs are started. It makes few sources
  /// at a time, because all of them with their texts may need a lot of memory.
  void Announce() {
    constexpr std::size_t kMostAtOnce = 256;
    std::map<const Toolchain*, std::vector<KernelSource>> sources;
    for (const std::vector<std::size_t>& group : groups) {
      const CompileJob& job = jobs[group.front()];
      if (!job.may_compile || job.alternatives.empty() || !NeedsFrontEnd(group.front())) continue;
      const SharedSource& source = job.alternatives.front().source;
      Result<const Toolchain*> toolchain = toolchains.For(source.kind());
      if (!toolchain.ok()) continue;
      std::vector<KernelSource>& announced = sources[*toolchain];
      announced.push_back(source.Whole());
      if (announced.size() == kMostAtOnce) AnnounceTo(**toolchain, std::exchange(announced, {}));
    }
    for (auto& [toolchain, announced] : sources) AnnounceTo(*toolchain, std::move(announced));
  }

  void AnnounceTo(const Toolchain& toolchain, const std::vector<KernelSource>& announced) {
    if (announced.empty()) return;
    std::vector<const KernelSource*> list;
    for (const KernelSource& source : announced) list.push_back(&source);
    (void)CallForeign(kToolchain, StatusCode::kInternal, [&]() -> Status {
      announcements.push_back(toolchain.Announce(list, target));
      return Status();
    });
  }

  /// Returns the milliseconds until `deadline` or the end of CompileOptions::total_timeout, whichever is earlier.
  /// The result is 0 or less once that time has passed, and the largest int if neither limit is set.
  std::int64_t TimeLeft(Clock::time_point deadline) const {
    if (options.total_timeout.count() != 0) {
      deadline = std::min(deadline, DeadlineIn(options.total_timeout, start));
    }
    if (deadline == Clock::time_point::max()) return std::numeric_limits<int>::max();
    return std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  }

  /// Of jobs that ask for the same, the last one's.
  Clock::time_point DeadlineOf(const std::vector<std::size_t>& group) const {
    Clock::time_point last = Clock::time_point::min();
    for (std::size_t job : group) last = std::max(last, jobs[job].deadline);
    return last;
  }

  /// True also where the toolchain cannot say: compiling says why.
  bool UsesHints(const CompileJob::Alternative& alternative) const {
    Result<bool> uses_hints = CallForeign(kToolchain, StatusCode::kInternal, [&]() -> Result<bool> {
      TUNEONCE_ASSIGN_OR_RETURN(const Toolchain* toolchain, toolchains.For(alternative.source.kind()));
      return toolchain->uses_hints();
    });
    return !uses_hints.ok() || *uses_hints;
  }

  /// What is left of the time for all, and for one.
  Result<WaitLimits> Limits(Clock::time_point deadline) const {
    if (stop.stop_requested()) return CancelledError("the search was cancelled");
    WaitLimits limits;
    limits.stop = stop;
    std::int64_t left = TimeLeft(deadline);
    if (left <= 0) {
      const bool is_own = options.total_timeout.count() == 0 || TimeLeft(Clock::time_point::max()) > 0;
      return DeadlineExceededError(is_own ? "the config was not compiled within the search's time"
                                          : absl::StrCat("the config was not compiled within the search's ",
                                                         options.total_timeout.count(), " ms for compiling"));
    }
    limits.timeout = std::min(options.timeout, std::chrono::milliseconds(left));
    return limits;
  }

  /// Null if the time for all ended, or the compiles were cancelled, before there was one: Limits says which.
  CompileSlots::Slot WaitForSlot(Clock::time_point deadline) const {
    Span span(trace, "wait", "wait for a compile slot");
    return slots.Acquire(most_at_a_time, [this, deadline] { return stop.stop_requested() || TimeLeft(deadline) <= 0; });
  }

  bool WasCutShort(const Status& status, Clock::time_point deadline) const {
    return status.code() == StatusCode::kCancelled ||
           (status.code() == StatusCode::kDeadlineExceeded && TimeLeft(deadline) <= 0);
  }

  Result<Artifact> Compile(const CompileJob::Alternative& alternative, std::size_t job, Clock::time_point deadline,
                           bool* from_cache) const {
    TUNEONCE_RETURN_IF_ERROR(Limits(deadline).status());
    // A toolchain and a cache may be the host's. What they throw is this candidate's failure, on whatever thread.
    return CallForeign(kToolchain, StatusCode::kInternal, [&]() -> Result<Artifact> {
      const KernelSource source = alternative.source.Whole();
      PrecompiledLookup ahead = FindPrecompiled(source, alternative.hints, target);
      *from_cache = ahead.found.has_value();
      if (ahead.found) return *std::move(ahead.found);
      Result<Artifact> compiled = CompileNow(source, alternative.hints, job, deadline, from_cache);
      return compiled.ok() ? std::move(compiled) : WithReason(compiled.status(), ahead);
    });
  }

  /// What sources have in common that differ in the values of their macros, and in what these are to the kernel's name.
  static Fingerprint WithoutValues(const KernelSource& source) {
    Fingerprinter fingerprinter;
    fingerprinter.Add(static_cast<std::uint64_t>(source.kind)).Add(source.TextFingerprint()).Add(source.file);
    for (const std::string& option : source.options) fingerprinter.Add(option);
    for (const std::string& define : source.defines) fingerprinter.Add(define.substr(0, define.find('=')));
    return fingerprinter.Finish();
  }

  /// The failure of a source before that lacked a header and differs from this one in values that do not decide which
  /// headers are read: it would fail to compile, too. OK if it is not known.
  Status LackedBy(const KernelSource& source) const {
    MutexLock lock(mutex);
    if (lacking.empty()) return Status();
    auto known = lacking.find(WithoutValues(source));
    return known == lacking.end() ? Status() : known->second;
  }

  void NoteFailure(const KernelSource& source, const Status& failure) const {
    if (!LacksHeader(failure) || MacrosMayDecideHeaders(source)) return;
    MutexLock lock(mutex);
    lacking.emplace(WithoutValues(source), failure);
  }

  Result<Artifact> CompileNow(const KernelSource& source, const Hints& hints, std::size_t job,
                              Clock::time_point deadline, bool* from_cache) const {
    RecordStore& cache = CacheOf(job);
    if (source.withheld != nullptr) {
      return FailedPreconditionError("the bundle was compiled without its sources (--no-sources)");
    }
    TUNEONCE_ASSIGN_OR_RETURN(const Toolchain* toolchain, toolchains.For(source.kind));
    TUNEONCE_ASSIGN_OR_RETURN(Fingerprint key, toolchain->ArtifactKey(source, hints, target));
    if (std::optional<Artifact> found = FindCurrent(cache, key)) {  // What is there needs no slot.
      *from_cache = true;
      return *std::move(found);
    }
    const bool is_machine_code = source.kind == SourceKind::kCubin;
    if (!jobs[job].may_compile && !is_machine_code)
      return UnavailableError("the config is not compiled yet, and this call may not compile");
    // Before a lease, never after one: who holds the lease must not wait for those who wait for it.
    CompileSlots::Slot slot = WaitForSlot(deadline);
    TUNEONCE_ASSIGN_OR_RETURN(WaitLimits limits, Limits(deadline));
    TUNEONCE_RETURN_IF_ERROR(LackedBy(source));
    Result<Artifact> artifact = CompileCached(*toolchain, cache, source, hints, target, limits, from_cache);
    if (!*from_cache && !is_machine_code) slots.CountCompile();
    if (!artifact.ok()) NoteFailure(source, artifact.status());
    return artifact;
  }

  /// Compile, as a span of time.
  Result<Artifact> CompileTraced(const CompileJob::Alternative& alternative, std::size_t job,
                                 Clock::time_point deadline, bool* from_cache) const {
    Span span(trace, "compile", "compile {" + jobs[job].label + "}");
    Result<Artifact> artifact = Compile(alternative, job, deadline, from_cache);
    span.Note("from_cache", std::int64_t{*from_cache});
    if (artifact.ok()) span.Note("compile_s", artifact->seconds);
    if (!artifact.ok()) span.Note("failure", artifact.status().message());
    return artifact;
  }

  /// Compiles for a group.
  CompiledJob Compile(const std::vector<std::size_t>& group) const {
    const std::size_t job = group.front();
    const Clock::time_point deadline = DeadlineOf(group);
    std::vector<Status> passed_over;
    const std::vector<CompileJob::Alternative>& alternatives = jobs[job].alternatives;
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      bool from_cache = false;
      Result<Artifact> artifact = CompileTraced(alternatives[i], job, deadline, &from_cache);
      if (artifact.ok() && alternatives[i].accepts) {
        if (Status accepted = alternatives[i].accepts(*artifact); !accepted.ok()) artifact = std::move(accepted);
      }
      if (artifact.ok() || i + 1 == alternatives.size() || artifact.status().code() == StatusCode::kCancelled) {
        bool was_cut_short = WasCutShort(artifact.status(), deadline);
        return CompiledJob{job, i, std::move(artifact), std::move(passed_over), from_cache, was_cut_short};
      }
      passed_over.push_back(artifact.status());
    }
    return CompiledJob{job, 0, InvalidArgumentError("no variant has a source for this config"), {}, false, false};
  }

  /// Compiles one more group. Returns false if no group remains.
  bool CompileOne() {
    std::size_t group = 0;
    {
      MutexLock lock(mutex);
      if (num_started == groups.size()) return false;
      group = num_started++;
    }
    CompiledJob result = Compile(groups[group]);
    MutexLock lock(mutex);
    for (std::size_t job : groups[group]) {
      result.job = job;
      finished.push(result);
      result.from_cache = true;  // The others of the group cost nothing.
    }
    changed.NotifyAll();
    return true;
  }

  CompiledJob HandOut() TUNEONCE_REQUIRES(mutex) {
    ++num_handed_out;
    CompiledJob result = std::move(finished.front());
    finished.pop();
    return result;
  }

  /// As many threads as can be had: a system that gives no more must not fail a search.
  void StartWorkers(int wanted) {
    workers.reserve(static_cast<std::size_t>(wanted));
    for (int i = 0; i < wanted; ++i) {
      try {
        workers.emplace_back([this, i] {
          if (trace != nullptr) trace->NameThread(absl::StrCat("compile worker ", i + 1));
          while (CompileOne()) {
          }
        });
      } catch (const std::system_error&) {
        break;
      }
    }
    if (workers.empty()) stop = options.stop;  // Nobody sets `stopped` while Next compiles.
  }
};

CompilePool::CompilePool(CompileSlots& slots, const ToolchainSet& toolchains, const Target& target,
                         std::vector<CompileJob> jobs, const CompileOptions& options, Trace* trace)
    : impl_(std::make_unique<Impl>(slots, toolchains, target, std::move(jobs), options, trace)) {
  impl_->Group();
  impl_->Announce();
  const int wanted = WorkersFor(slots, options);
  impl_->StartWorkers(std::max(1, std::min(wanted, static_cast<int>(impl_->groups.size()))));
}

int CompilePool::WorkersFor(const CompileSlots& slots, const CompileOptions& options) {
  return options.num_workers > 0 ? std::min(options.num_workers, slots.limit())
                                 : slots.LimitFor(options.memory_per_worker_bytes);
}

CompilePool::~CompilePool() {
  impl_->stopped = true;
  for (std::thread& worker : impl_->workers) worker.join();
}

std::optional<CompiledJob> CompilePool::Next() {
  MutexLock lock(impl_->mutex);
  if (impl_->num_handed_out == impl_->jobs.size()) return std::nullopt;
  if (impl_->workers.empty() && impl_->finished.empty()) {
    lock.Unlock();
    impl_->CompileOne();
    lock.Lock();
  }
  while (impl_->finished.empty()) {
    // The user's flag cannot notify: it is looked at from here, where nothing else is to be done.
    impl_->changed.WaitFor(lock, std::chrono::milliseconds(10));
    if (impl_->options.stop.stop_possible() && !impl_->stopped) {
      lock.Unlock();  // The workers need not wait for a host's answer.
      if (impl_->options.stop.stop_requested()) impl_->stopped = true;
      lock.Lock();
    }
  }
  return impl_->HandOut();
}

std::optional<CompiledJob> CompilePool::Poll() {
  MutexLock lock(impl_->mutex);
  if (impl_->finished.empty()) return std::nullopt;
  return impl_->HandOut();
}

int CompilePool::num_workers() const { return std::max(1, static_cast<int>(impl_->workers.size())); }

}  // namespace v0
}  // namespace tuneonce
