#ifndef TUNEONCE_TESTS_TESTING_SCRIPTED_SEARCH_H_
#define TUNEONCE_TESTS_TESTING_SCRIPTED_SEARCH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "search/candidate.h"
#include "search/candidate_runner.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::testing {

/// Compiles a source to itself; "error" or "error2" does not compile, "slow" takes all the time that it is given,
/// "late" a tenth of a second, and "cancel" sets `cancelled`. Sources with the same text have the same code.
class FakeToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override { return std::string("fake 1"); }
  std::string Description() const override { return "fake"; }

  mutable std::atomic<bool> cancelled{false};

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints&, const Target&,
                             const WaitLimits& limits) const override {
    if (source.content == "slow") {
      auto deadline = std::chrono::steady_clock::now() + limits.timeout;
      while (std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      return DeadlineExceededError("it took too long");
    }
    if (source.content == "late") {
      constexpr std::chrono::milliseconds kTakes(100);
      std::this_thread::sleep_for(std::min(kTakes, limits.timeout));
      if (limits.timeout < kTakes) return DeadlineExceededError("it took too long");
    }
    if (source.content == "cancel") {
      cancelled = true;
      while (!limits.stop.stop_requested()) std::this_thread::yield();
      return CancelledError("cancelled");
    }
    if (source.content.rfind("error", 0) == 0) return InvalidArgumentError("line 1: " + source.content);
    Artifact artifact;
    artifact.image = source.content;
    artifact.code_fingerprint = Fingerprinter().Add(source.content).Finish();
    return artifact;
  }
};

/// Candidates take the time that the script says by their source.
class ScriptedRunner final : public CandidateRunner, public TrialPlace {
 public:
  bool wants_baseline_first() const override { return wants_baseline; }
  PreparedTrial Prepare(const Candidate& candidate, bool is_baseline) override {
    ran.push_back(candidate.config.ToString());
    if (on_prepare) on_prepare(candidate);
    std::this_thread::sleep_for(std::chrono::milliseconds(prepare_ms));
    if (is_baseline) wants_baseline = false;
    PreparedTrial result;
    if (baseline_fails) {
      const OutcomeKind kind = is_baseline ? OutcomeKind::kWrongResult : OutcomeKind::kNotVerified;
      result.failure = CandidateOutcome::Failed(candidate.config, kind, "not verified: " + candidate.config.ToString());
    } else if (candidate.source.content() == "crash") {
      result.fatal = Status::FromDriver(StatusCode::kInternal, "illegal access", 700, true);
    } else if (double us = times.at(candidate.source.content()); us < 0) {
      result.failure = CandidateOutcome::Failed(candidate.config, OutcomeKind::kRun, "failed running");
    } else {
      result.trial = prepared.size();
      result.warmup_us = us;
      ++launches;
      prepared.push_back(us);
      contents.push_back(candidate.source.content());
      candidates.push_back(&candidate);
    }
    return result;
  }
  Result<std::vector<double>> Sample(const std::vector<std::size_t>& trials) override {
    if (!lost.ok() && ++num_sampled > 3) return lost;
    std::this_thread::sleep_for(std::chrono::milliseconds(sample_ms));
    std::vector<double> samples;
    for (std::size_t trial : trials) {
      EXPECT_NE(prepared[trial], kReleased) << "it is not sampled again";
      EXPECT_EQ(candidates[trial]->source.content(), contents[trial]) << "a candidate stays where it was prepared";
      if (prepared[trial] == kRefused) return InvalidArgumentError("launch refused");
      ++launches;
      samples.push_back(slow_from > 0 && launches >= slow_from ? 100 : prepared[trial]);
    }
    return samples;
  }
  PreparedTrial CheckAgain(PreparedTrial trial) override {
    checked_again.push_back(contents[trial.trial]);
    if (wrong_later.count(contents[trial.trial]) > 0) {
      trial.failure = CandidateOutcome::Failed(Config(), OutcomeKind::kWrongResult, "wrong later");
    }
    return trial;
  }
  void Release(std::size_t trial) override {
    EXPECT_NE(prepared[trial], kReleased) << "once";
    prepared[trial] = kReleased;
    released.push_back(contents[trial]);
  }
  std::optional<DeviceReading> ReadDevice() override {
    if (!knows_device) return std::nullopt;
    DeviceReading reading;
    reading.conditions.sm_clock_mhz = launches;
    reading.temperature_c = 41;
    return reading;
  }
  Status Burst(std::size_t trial, std::int64_t count) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    bursts.insert(contents[trial]);
    energy_mj += static_cast<std::uint64_t>(2 * count);
    return Status();
  }
  std::optional<std::uint64_t> ReadEnergyMj() override {
    return knows_device ? std::optional<std::uint64_t>(energy_mj) : std::nullopt;
  }
  bool TimeInAnotherWay() override {
    if (!has_other_timer) return false;
    timer = "other";
    lost = Status();
    return true;
  }
  VerifiedTogether VerifyTogether(const std::vector<const Candidate*>& finalists,
                                  bool /*first_is_reference*/) override {
    return VerifiedTogether{std::vector<std::optional<CandidateOutcome>>(finalists.size()), Status()};
  }
  OutcomeKind LossOf(std::size_t /*trial*/) const override { return OutcomeKind::kRun; }
  Status Open() override { return Status(); }
  CandidateRunner& runner() override { return *this; }
  Result<std::shared_ptr<const LoadedKernel>> CodeOf(const PreparedTrial& trial, const Candidate&) override {
    return trial.kernel;
  }
  RunnerReport Report() const override {
    RunnerReport report;
    report.timer = timer;
    report.num_launches = launches;
    return report;
  }

  static constexpr double kRefused = 12345;  ///< A candidate that can be prepared, but not timed.

  static constexpr double kReleased = -2;

  std::vector<std::string> contents;         ///< By trial: the candidate's source.
  std::vector<const Candidate*> candidates;  ///< By trial.
  std::vector<std::string> checked_again;
  std::vector<std::string> released;
  std::map<std::string, int> wrong_later;  ///< Sources that fail after the race.
  std::map<std::string, double> times;
  std::vector<std::string> ran;
  std::function<void(const Candidate&)> on_prepare;
  std::vector<double> prepared;
  std::set<std::string> bursts;  ///< Sources of which a burst was launched: each launch takes 2 mJ.
  std::uint64_t energy_mj = 5000;
  int prepare_ms = 0;
  int sample_ms = 0;  ///< How long a round takes.
  std::int64_t launches = 0;
  bool wants_baseline = false;
  bool baseline_fails = false;  // So that nothing can be verified.
  Status lost;  ///< What Sample says from the fourth round on.
  int num_sampled = 0;
  std::int64_t slow_from = 0;  ///< From this launch on all candidates take the same time.
  bool has_other_timer = false;
  bool knows_device = false;  ///< Its clock is the number of launches.
  std::string timer = "scripted";
};

/// One config per entry of the script, {source, microseconds}, which the runner learns.
inline std::vector<PlannedConfig> PlannedOf(const std::vector<std::pair<std::string, double>>& script,
                                            ScriptedRunner* runner) {
  SearchSpace space;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < script.size(); ++i) values.push_back(static_cast<std::int64_t>(i));
  space.AddAxis("i", values);
  std::vector<Config> configs = *space.Enumerate(Target());
  auto definition = std::make_shared<const KernelDefinition>("k");
  std::vector<PlannedConfig> planned(script.size());
  for (std::size_t i = 0; i < script.size(); ++i) {
    Candidate candidate;
    candidate.config = configs[i];
    candidate.definition = definition;
    candidate.source = KernelSource::CpuCpp(script[i].first, "k");
    runner->times[script[i].first] = script[i].second;
    planned[i].config = configs[i];
    planned[i].alternatives.push_back(candidate);
  }
  return planned;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_SCRIPTED_SEARCH_H_
