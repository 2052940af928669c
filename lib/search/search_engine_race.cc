// SearchEngine's race: rounds until the result is conclusive, and what its finalists must still show.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/span.h"
#include "measure/race.h"
#include "measure/statistics.h"
#include "search/search_engine.h"
#include "shared/log.h"
#include "tuneonce/autotune_policy.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Between two readings of the device while rounds go on: clocks do not change faster, and a reading costs some tens of
/// microseconds.
constexpr auto kDevicePeriod = std::chrono::milliseconds(50);

/// How long a finalist is launched for its energy. The device's counter changes up to every 100 ms, so that the error
/// is at most a tenth.
constexpr auto kEnergyTime = std::chrono::seconds(1);
/// How long one burst of it takes about: then the search looks whether it is cancelled.
constexpr double kBurstUs = 50000;

/// Minimum number of rounds for measuring a drift.
constexpr std::size_t kMinRoundsForDrift = 8;

std::optional<double> MeanOf(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

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
    return times.status().WithPrefix(
        absl::StrCat("kernel '", record_.key.kernel, "', one of the candidates ", configs));
  }
  // Whose fault was it? Each alone.
  std::vector<double> one_by_one;
  for (std::size_t entrant : entrants) {
    Result<std::vector<double>> alone = Sample({entrant});
    if (!alone.ok() && (alone.status().sticky() || alone.status().code() == StatusCode::kUnavailable)) return alone;
    if (!alone.ok()) {
      racing_[entrant]->timing_failure = CandidateOutcome::Failed(
          Config(), place_.runner().LossOf(racing_[entrant]->prepared->trial), alone.status().message());
    }
    one_by_one.push_back(alone.ok() ? alone->front() : 0);
  }
  return one_by_one;
}

Status SearchEngine::Decide() {
  race_began_ = Clock::now();
  progress_.Begin(SearchProgress::Stage::kRace);
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
  record_.speedup_over_baseline.reset();
  LimitRace();  // If a fast finalist failed, slower groups race.
  for (CandidateGroup& group : groups_.groups()) {
    group.samples_us.clear();
    if (group.prepared->failure || group.timing_failure || !MayRace(group)) continue;
    if (!group.is_loaded) TUNEONCE_RETURN_IF_ERROR(Prepare(group));
    if (group.is_loaded) racing_.push_back(&group);
  }
  std::stable_partition(racing_.begin(), racing_.end(),
                        [&](const CandidateGroup* group) { return groups_.HasBaseline(*group); });
  return Status();
}

Race SearchEngine::MakeRace() const {
  RaceOptions options;
  if (groups_.HasBaseline(*racing_.front())) options.first_tie = options_.baseline_margin;
  options.max_rounds = options_.max_rounds;
  options.budget_ms = options_.budgets.gpu.count() - record_.cost.gpu_seconds * 1000;
  options.seed = options_.seed;
  Race race(racing_.size(), options);
  // Each ran already, timed, when it was prepared.
  std::vector<double> warmups;
  for (const CandidateGroup* group : racing_) warmups.push_back(group->prepared->warmup_us);
  race.RecordWarmup(warmups);
  return race;
}

bool SearchEngine::RaceIsOverdue() const {
  return SecondsSince(race_began_) * 1000 >= options_.budgets.race.count() || Clock::now() >= ends_;
}

std::optional<DeviceReading> SearchEngine::ReadDevice() {
  device_read_ = Clock::now();
  std::optional<DeviceReading> reading = place_.ReadDevice();
  if (reading && reading->conditions.sm_clock_mhz) {
    race_clocks_mhz_.push_back(static_cast<double>(*reading->conditions.sm_clock_mhz));
  }
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

void SearchEngine::WatchDevice() {
  if (Clock::now() - device_read_ >= kDevicePeriod) ReadDevice();
}

Result<bool> SearchEngine::RunRace() {
  Span span(&runtime_.trace(), "race", absl::StrCat("race of ", racing_.size()));
  Race race = MakeRace();
  record_.device_before = ReadDevice();
  race_clocks_mhz_.clear();
  for (auto round = race.NextRound(); !round.empty(); round = race.NextRound()) {
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    Result<std::vector<double>> samples = SampleRound(round);
    if (!samples.ok() && samples.status().code() == StatusCode::kUnavailable && place_.runner().TimeInAnotherWay()) {
      return false;
    }
    TUNEONCE_RETURN_IF_ERROR(samples.status());
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (std::isfinite((*samples)[i]) && (*samples)[i] > 0) continue;
      std::optional<CandidateOutcome>& failure = racing_[round[i]]->timing_failure;
      if (failure) continue;
      failure = CandidateOutcome::Failed(Config(), OutcomeKind::kRun,
                                         "the timer returned a time that is not a positive number");
    }
    race.Record(*samples);
    UnloadLosers(race);
    if (race.num_rounds() > 0 && RaceIsOverdue()) race.Stop();
    progress_.ReportRound(race, racing_.size(), record_.cost.gpu_seconds);
    WatchDevice();
  }
  record_.device_after = ReadDevice();
  record_.race_sm_clock_mhz = MeanOf(race_clocks_mhz_);
  for (std::size_t i = 0; i < racing_.size(); ++i) {
    racing_[i]->samples_us = race.samples_us(i);
    racing_[i]->ties = race.Ties(i);
    racing_[i]->is_finalist = race.IsRacing(i);
  }
  record_.cost.gpu_seconds += race.spent_ms() / 1000;
  record_.cost.num_rounds += race.num_rounds();
  record_.is_conclusive = race.is_conclusive();
  SayAt(runtime_, LogLevel::kDebug, [&] {
    return absl::StrCat(record_.key.kernel, ": ", racing_.size(), " raced for ", race.num_rounds(), " rounds, ",
                        race.spent_ms(), " ms on the device",
                        race.is_conclusive() ? "" : ", without a conclusive result");
  });
  std::optional<std::size_t> selection = race.Selected();
  if (!selection) return true;
  if (groups_.HasBaseline(*racing_.front()) && *selection != 0 && options_.final_rounds > 0) {
    TUNEONCE_ASSIGN_OR_RETURN(bool keeps, WinnerKeepsMargin(*selection));
    if (!keeps) selection = 0;
  }
  Conclude(race, *selection);
  return true;
}

void SearchEngine::Conclude(const Race& race, std::size_t selection) {
  winner_ = racing_[selection];
  record_.drift = DriftOf(winner_->samples_us);
  if (groups_.HasBaseline(*racing_.front())) {
    record_.speedup_over_baseline = std::exp(std::max(0.0, race.LogRatio(0, selection)));
  }
}

void SearchEngine::UnloadLosers(const Race& race) {
  for (std::size_t i = 0; i < racing_.size(); ++i) {
    if (!race.IsRacing(i) && !groups_.HasBaseline(*racing_[i])) Unload(*racing_[i]);
  }
}

void SearchEngine::Unload(CandidateGroup& group) {
  if (!group.is_loaded) return;
  group.is_loaded = false;
  group.prepared->kernel = nullptr;
  MutexLock lock(measuring_lock_);
  place_.runner().Release(group.prepared->trial);
}

Result<bool> SearchEngine::FinalistsAreRight() {
  bool all = true;
  for (CandidateGroup* group : racing_) {
    if (!group->is_loaded || !(group->is_finalist || group == winner_ || groups_.HasBaseline(*group))) continue;
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

CandidateGroup* SearchEngine::RunnerUp() const {
  std::vector<CandidateGroup*> others;
  for (CandidateGroup* group : racing_) {
    const bool has_raced = !group->prepared->failure && !group->samples_us.empty();
    if (has_raced && group != winner_ && !groups_.HasBaseline(*group)) others.push_back(group);
  }
  if (others.empty()) return nullptr;
  auto mean_us = [](const CandidateGroup* group) { return Summarize(group->samples_us).mean_us; };
  return *std::min_element(others.begin(), others.end(),
                           [&](const CandidateGroup* a, const CandidateGroup* b) { return mean_us(a) < mean_us(b); });
}

bool SearchEngine::TakeFailures(const FinalistChecks::Failures& failures) {
  bool decides = false;
  for (CandidateGroup* group : racing_) {
    const auto failed = failures.find(&group->candidate);
    if (failed == failures.end()) continue;
    decides |= group == winner_ || groups_.HasBaseline(*group);
    Unload(*group);
    group->prepared->failure = failed->second;
    SayAt(runtime_, LogLevel::kDebug, [&] {
      return absl::StrCat(record_.key.kernel, " {", group->candidate.config.ToString(), "}: ", failed->second.message);
    });
  }
  return decides;
}

Result<bool> SearchEngine::FinalistsAreVerified() {
  if (checks_ == nullptr || winner_ == nullptr) return true;
  const bool has_baseline = groups_.HasBaseline(*racing_.front());
  for (;;) {
    std::vector<const Candidate*> finalists;
    if (has_baseline) finalists.push_back(&racing_.front()->candidate);
    if (!groups_.HasBaseline(*winner_)) finalists.push_back(&winner_->candidate);
    if (const CandidateGroup* runner_up = RunnerUp(); runner_up != nullptr) finalists.push_back(&runner_up->candidate);
    std::vector<const Candidate*> others;
    for (const CandidateGroup* group : racing_) {
      const bool is_finalist = std::find(finalists.begin(), finalists.end(), &group->candidate) != finalists.end();
      if (!is_finalist && !group->prepared->failure) others.push_back(&group->candidate);
    }
    auto candidate_of = [&](const Config& config) -> const Candidate* {
      for (const CandidateGroup* group : racing_) {
        const bool has_config = std::any_of(group->members.begin(), group->members.end(),
                                            [&](std::size_t member) { return groups_.config(member) == config; });
        if (has_config) return group->prepared->failure ? nullptr : &group->candidate;
      }
      return nullptr;
    };
    auto is_over = [&] { return Clock::now() >= ends_; };
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    TUNEONCE_ASSIGN_OR_RETURN(FinalistChecks::Failures failures,
                              checks_->Check(finalists, has_baseline, others, candidate_of, is_over));
    if (failures.empty()) break;
    if (TakeFailures(failures)) return false;
  }
  record_.verification = checks_->Verified(has_baseline || !options_.reference.empty());
  for (const std::string& gap : record_.verification.gaps) record_.notes.push_back("not verified at " + gap);
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
    record_.cost.gpu_seconds += (times[0] + times[1]) * 1e-6;
  }
  return sum / options_.final_rounds > options_.baseline_margin;
}

Status SearchEngine::MeasureEnergy() {
  if (!options_.measure_energy || winner_ == nullptr) return Status();
  for (CandidateGroup* group : racing_) {
    const bool can_run = group->is_loaded && !group->prepared->failure && !group->samples_us.empty();
    const bool is_finalist = group->is_finalist || group == winner_ || groups_.HasBaseline(*group);
    if (!can_run || !is_finalist || Clock::now() >= ends_) continue;
    TUNEONCE_ASSIGN_OR_RETURN(group->energy_mj, EnergyOf(*group));
  }
  return Status();
}

Result<std::optional<double>> SearchEngine::EnergyOf(const CandidateGroup& group) {
  Span span(&runtime_.trace(), "energy", "energy of {" + group.candidate.config.ToString() + "}");
  MutexLock lock(measuring_lock_);
  const std::optional<std::uint64_t> before = place_.ReadEnergyMj();
  if (!before) return std::optional<double>();
  const double mean_us = Summarize(group.samples_us).mean_us;
  const auto launches = static_cast<std::int64_t>(std::clamp(kBurstUs / mean_us, 1.0, kBurstUs));
  std::int64_t launched = 0;
  for (const auto began = Clock::now(); Clock::now() - began < kEnergyTime; launched += launches) {
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    Status burst = place_.runner().Burst(group.prepared->trial, launches);
    if (burst.sticky()) return burst;
    if (!burst.ok()) return std::optional<double>();
  }
  const std::optional<std::uint64_t> after = place_.ReadEnergyMj();
  if (!after || *after <= *before) return std::optional<double>();
  return std::optional<double>(static_cast<double>(*after - *before) / static_cast<double>(launched));
}

}  // namespace v0
}  // namespace tuneonce
