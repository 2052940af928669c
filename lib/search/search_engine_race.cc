// SearchEngine's race: rounds until the result is conclusive, and what its finalists must still show.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/span.h"
#include "measure/race.h"
#include "measure/statistics.h"
#include "search/search_engine.h"
#include "shared/log.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Between two looks at the device while rounds go on, in a trace: clocks do not change faster, and a look costs some
/// tens of microseconds.
constexpr auto kDevicePeriod = std::chrono::milliseconds(50);

/// Minimum number of rounds for measuring a drift.
constexpr std::size_t kMinRoundsForDrift = 8;

/// How much slower the second half of the samples is than the first.
double DriftOf(const std::vector<double>& samples) {
  if (samples.size() < kMinRoundsForDrift) return 0;
  std::size_t half = samples.size() / 2;
  std::vector<double> first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(half));
  std::vector<double> second(samples.end() - static_cast<std::ptrdiff_t>(half), samples.end());
  return Summarize(second).mean_us / Summarize(first).mean_us - 1;
}

}  // namespace

Result<std::vector<double>> SearchEngine::Sample(const std::vector<std::size_t>& entrants) {
  std::vector<std::size_t> trials;
  for (std::size_t entrant : entrants) trials.push_back(racing_[entrant]->prepared->trial);
  std::optional<Span> wait(std::in_place, &runtime_.trace(), "wait", "wait for the device");
  MutexLock lock(measuring_lock_);
  wait.reset();
  auto began = std::chrono::steady_clock::now();
  Result<std::vector<double>> times = place_.runner().Sample(trials);
  if (times.ok()) TraceSamples(entrants, *times, began);
  return times;
}

void SearchEngine::TraceSamples(const std::vector<std::size_t>& entrants, const std::vector<double>& samples_us,
                                std::chrono::steady_clock::time_point began) const {
  Trace& trace = runtime_.trace();
  if (!trace.is_on()) return;
  const std::int64_t track = trace.TrackOf(&measuring_lock_, "device: samples, side by side");
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const double us = samples_us[i];
    if (!std::isfinite(us) || us <= 0) continue;
    auto duration = std::chrono::duration_cast<Trace::Clock::duration>(std::chrono::duration<double, std::micro>(us));
    trace.Add({"{" + racing_[entrants[i]]->candidate.config.ToString() + "}",
               "sample",
               began,
               duration,
               track,
               {{"us", us}}});
    began += duration;
  }
}

Result<std::vector<double>> SearchEngine::SampleRound(const std::vector<std::size_t>& entrants) {
  Span span(&runtime_.trace(), "race", absl::StrCat("round of ", entrants.size()));
  Result<std::vector<double>> times = Sample(entrants);
  if (times.ok()) return times;
  if (times.status().code() == StatusCode::kUnavailable) return times;
  if (times.status().sticky()) {
    std::string configs = absl::StrJoin(entrants, ", ", [&](std::string* out, std::size_t entrant) {
      absl::StrAppend(out, "{", racing_[entrant]->candidate.config.ToString(), "}");
    });
    return times.status().WithPrefix(absl::StrCat("kernel '", result_.kernel, "', one of the candidates ", configs));
  }
  // Whose fault was it? Each alone.
  std::vector<double> one_by_one;
  for (std::size_t entrant : entrants) {
    Result<std::vector<double>> alone = Sample({entrant});
    if (!alone.ok() && (alone.status().sticky() || alone.status().code() == StatusCode::kUnavailable)) return alone;
    if (!alone.ok()) {
      timing_failures_[racing_[entrant]] = {place_.runner().LossOf(racing_[entrant]->prepared->trial),
                                            alone.status().message()};
    }
    one_by_one.push_back(alone.ok() ? alone->front() : 0);
  }
  return one_by_one;
}

Status SearchEngine::Decide() {
  race_began_ = Clock::now();
  for (;;) {
    TUNEONCE_RETURN_IF_ERROR(EnterRace());
    if (racing_.empty()) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(bool is_over, RunRace());
    if (!is_over) continue;
    TUNEONCE_ASSIGN_OR_RETURN(bool are_right, FinalistsAreRight());
    if (!are_right) continue;
    TUNEONCE_ASSIGN_OR_RETURN(bool are_verified, FinalistsAreVerified());
    if (are_verified) return Status();
  }
}

Status SearchEngine::EnterRace() {
  winner_ = nullptr;
  racing_.clear();
  result_.speedup_over_baseline.reset();
  for (Group& group : groups_) {
    group.samples_us.clear();
    if (group.prepared->failure || timing_failures_.count(&group) > 0) continue;
    if (!group.is_loaded) TUNEONCE_RETURN_IF_ERROR(Prepare(group));
    if (group.is_loaded) racing_.push_back(&group);
  }
  std::stable_partition(racing_.begin(), racing_.end(), [&](const Group* group) { return HasBaseline(*group); });
  return Status();
}

Race SearchEngine::MakeRace() const {
  RaceOptions options;
  if (HasBaseline(*racing_.front())) options.first_tie = options_.baseline_margin;
  options.max_rounds = options_.max_rounds;
  options.budget_ms = options_.gpu_budget_ms - result_.cost.gpu_seconds * 1000;
  options.seed = options_.seed;
  Race race(racing_.size(), options);
  // Each ran already, timed, when it was prepared.
  std::vector<double> warmups;
  for (const Group* group : racing_) warmups.push_back(group->prepared->warmup_us);
  race.RecordWarmup(warmups);
  return race;
}

bool SearchEngine::RaceIsOverdue() const {
  return SecondsSince(race_began_) * 1000 >= options_.race_budget_ms || Clock::now() >= ends_;
}

std::optional<DeviceReading> SearchEngine::ReadDevice() {
  device_read_ = Clock::now();
  std::optional<DeviceReading> reading = place_.ReadDevice();
  Trace& trace = runtime_.trace();
  if (!reading || !trace.is_on()) return reading;
  const DeviceConditions& conditions = reading->conditions;
  Trace::Event event{"clocks", "device", device_read_, {}, trace.TrackOf(&place_, "device: clocks"), {}};
  auto note = [&](const char* name, const auto& value) {
    if (value) event.arguments.emplace_back(name, static_cast<std::int64_t>(*value));
  };
  note("sm_clock_mhz", conditions.sm_clock_mhz);
  note("memory_clock_mhz", conditions.memory_clock_mhz);
  note("throttle_reasons", conditions.throttle_reasons);
  note("temperature_c", reading->temperature_c);
  note("power_mw", reading->power_mw);
  trace.Add(std::move(event));
  return reading;
}

void SearchEngine::TraceDevice() {
  if (runtime_.trace().is_on() && Clock::now() - device_read_ >= kDevicePeriod) ReadDevice();
}

Result<bool> SearchEngine::RunRace() {
  Span span(&runtime_.trace(), "race", absl::StrCat("race of ", racing_.size()));
  Race race = MakeRace();
  result_.device_before = ReadDevice();
  for (auto round = race.NextRound(); !round.empty(); round = race.NextRound()) {
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    Result<std::vector<double>> samples = SampleRound(round);
    if (!samples.ok() && samples.status().code() == StatusCode::kUnavailable && place_.runner().TimeInAnotherWay()) {
      return false;
    }
    TUNEONCE_RETURN_IF_ERROR(samples.status());
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (std::isfinite((*samples)[i]) && (*samples)[i] > 0) continue;
      timing_failures_.emplace(
          racing_[round[i]],
          TimingFailure{FailureKind::kRun, "the timer returned a time that is not a positive number"});
    }
    race.Record(*samples);
    UnloadLosers(race);
    if (race.num_rounds() > 0 && RaceIsOverdue()) race.Stop();
    ReportRound(race);
    TraceDevice();
  }
  result_.device_after = ReadDevice();
  for (std::size_t i = 0; i < racing_.size(); ++i) {
    racing_[i]->samples_us = race.samples_us(i);
    racing_[i]->ties = race.Ties(i);
    racing_[i]->is_finalist = race.IsRacing(i);
  }
  result_.cost.gpu_seconds += race.spent_ms() / 1000;
  result_.cost.num_rounds += race.num_rounds();
  result_.is_conclusive = race.is_conclusive();
  SayAt(runtime_, LogLevel::kDebug, [&] {
    return absl::StrCat(result_.kernel, ": ", racing_.size(), " raced for ", race.num_rounds(), " rounds, ",
                        race.spent_ms(), " ms on the device",
                        race.is_conclusive() ? "" : ", without a conclusive result");
  });
  std::optional<std::size_t> selection = race.Selected();
  if (!selection) return true;
  if (HasBaseline(*racing_.front()) && *selection != 0 && options_.final_rounds > 0) {
    TUNEONCE_ASSIGN_OR_RETURN(bool keeps, WinnerKeepsMargin(*selection));
    if (!keeps) selection = 0;
  }
  Conclude(race, *selection);
  return true;
}

void SearchEngine::Conclude(const Race& race, std::size_t selection) {
  winner_ = racing_[selection];
  result_.drift = DriftOf(winner_->samples_us);
  if (HasBaseline(*racing_.front())) {
    result_.speedup_over_baseline = std::exp(std::max(0.0, race.LogRatio(0, selection)));
  }
}

void SearchEngine::UnloadLosers(const Race& race) {
  for (std::size_t i = 0; i < racing_.size(); ++i) {
    if (!race.IsRacing(i) && !HasBaseline(*racing_[i])) Unload(*racing_[i]);
  }
}

void SearchEngine::Unload(Group& group) {
  if (!group.is_loaded) return;
  group.is_loaded = false;
  group.prepared->kernel = nullptr;
  MutexLock lock(measuring_lock_);
  place_.runner().Release(group.prepared->trial);
}

Result<bool> SearchEngine::FinalistsAreRight() {
  bool all = true;
  for (Group* group : racing_) {
    if (!group->is_loaded || !(group->is_finalist || group == winner_ || HasBaseline(*group))) continue;
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    PreparedTrial checked;
    {
      Span span(&runtime_.trace(), "verify", "verify again {" + group->candidate.config.ToString() + "}");
      MutexLock lock(measuring_lock_);
      checked = place_.runner().CheckAgain(*group->prepared);
    }
    TUNEONCE_RETURN_IF_ERROR(checked.fatal);
    if (checked.failure) {
      all = false;
      Unload(*group);
      group->prepared->failure = std::move(checked.failure);
    } else {
      group->prepared = std::move(checked);
    }
  }
  return all;
}

SearchEngine::Group* SearchEngine::RunnerUp() const {
  std::vector<Group*> others;
  for (Group* group : racing_) {
    const bool has_raced = !group->prepared->failure && !group->samples_us.empty();
    if (has_raced && group != winner_ && !HasBaseline(*group)) others.push_back(group);
  }
  if (others.empty()) return nullptr;
  auto mean_us = [](const Group* group) { return Summarize(group->samples_us).mean_us; };
  return *std::min_element(others.begin(), others.end(),
                           [&](const Group* a, const Group* b) { return mean_us(a) < mean_us(b); });
}

bool SearchEngine::TakeFailures(const FinalistChecks::Failures& failures) {
  bool decides = false;
  for (Group* group : racing_) {
    const auto failed = failures.find(&group->candidate);
    if (failed == failures.end()) continue;
    decides |= group == winner_ || HasBaseline(*group);
    Unload(*group);
    group->prepared->failure = failed->second;
    SayAt(runtime_, LogLevel::kDebug, [&] {
      return absl::StrCat(result_.kernel, " {", group->candidate.config.ToString(), "}: ", failed->second.message);
    });
  }
  return decides;
}

Result<bool> SearchEngine::FinalistsAreVerified() {
  if (checks_ == nullptr || winner_ == nullptr) return true;
  const bool has_baseline = HasBaseline(*racing_.front());
  for (;;) {
    std::vector<const Candidate*> finalists;
    if (has_baseline) finalists.push_back(&racing_.front()->candidate);
    if (!HasBaseline(*winner_)) finalists.push_back(&winner_->candidate);
    if (const Group* runner_up = RunnerUp(); runner_up != nullptr) finalists.push_back(&runner_up->candidate);
    std::vector<const Candidate*> others;
    for (const Group* group : racing_) {
      const bool is_finalist = std::find(finalists.begin(), finalists.end(), &group->candidate) != finalists.end();
      if (!is_finalist && !group->prepared->failure) others.push_back(&group->candidate);
    }
    auto is_over = [&] { return Clock::now() >= ends_; };
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    TUNEONCE_ASSIGN_OR_RETURN(FinalistChecks::Failures failures,
                              checks_->Check(finalists, has_baseline, others, is_over));
    if (failures.empty()) break;
    if (TakeFailures(failures)) return false;
  }
  result_.verification = checks_->Verified(has_baseline || !options_.reference.empty());
  for (const std::string& gap : result_.verification.gaps) result_.notes.push_back("not verified at " + gap);
  return true;
}

Result<bool> SearchEngine::WinnerKeepsMargin(std::size_t winner) {
  double sum = 0;
  for (int round = 0; round < options_.final_rounds; ++round) {
    bool winner_first = round % 2 == 0;
    std::vector<std::size_t> order =
        winner_first ? std::vector<std::size_t>{winner, 0} : std::vector<std::size_t>{0, winner};
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<double> times, SampleRound(order));
    if (times[0] <= 0 || times[1] <= 0) return false;
    sum += std::log(times[winner_first ? 1 : 0] / times[winner_first ? 0 : 1]);
    result_.cost.gpu_seconds += (times[0] + times[1]) * 1e-6;
  }
  return sum / options_.final_rounds > options_.baseline_margin;
}

}  // namespace v0
}  // namespace tuneonce
