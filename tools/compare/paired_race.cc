#include "compare/paired_race.h"

#include <chrono>
#include <cstdint>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "compare/speedup.h"
#include "measure/statistics.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Minimum number of pairs unless the time ends, because with fewer the interval is wider than a verdict.
constexpr int kMinPairs = 10;
/// Half of the interval, as a log-ratio, from which on more pairs are not worth their time: an eighth of the least
/// difference that a verdict tells apart (2 %).
constexpr double kNarrow = 0.0025;

std::string WhyOf(const CandidateOutcome& failure) {
  return absl::StrCat(std::string(OutcomeName(failure.kind)), ": ", failure.message);
}

/// Whether a candidate that failed in this way ran, so that what it wrote could be checked.
bool IsWrong(OutcomeKind kind) {
  return kind == OutcomeKind::kWrongResult || kind == OutcomeKind::kOutOfBounds || kind == OutcomeKind::kNotWritten ||
         kind == OutcomeKind::kWroteInput;
}

void SetFailure(const CandidateOutcome& failure, PairedOutcome* outcome) {
  outcome->failure = WhyOf(failure);
  outcome->is_wrong = IsWrong(failure.kind);
}

/// One call of RunPairedRace.
class PairedRace {
 public:
  PairedRace(TrialPlace& place, Mutex& measuring_lock, const SearchOptions& options)
      : place_(place), measuring_lock_(measuring_lock), options_(options), random_(options.seed) {}

  Result<PairedOutcome> Run(const Candidate& a, const Candidate& b) {
    PairedOutcome outcome;
    TUNEONCE_ASSIGN_OR_RETURN(a_, Prepare(a, /*is_reference=*/true));
    if (a_.failure) return InternalError("A: " + WhyOf(*a_.failure));
    TUNEONCE_ASSIGN_OR_RETURN(b_, Prepare(b, /*is_reference=*/false));
    if (b_.failure && b_.failure->kind == OutcomeKind::kNotVerified) return InternalError("A: " + b_.failure->message);
    // But for a lack of memory: A had enough.
    const bool may_pass = b_.failure && b_.failure->is_transient && b_.failure->kind != OutcomeKind::kResources;
    if (may_pass) return UnavailableError("B: " + WhyOf(*b_.failure));
    outcome.largest_difference = b_.largest_difference;
    if (b_.failure) {
      SetFailure(*b_.failure, &outcome);
      return outcome;
    }
    TUNEONCE_RETURN_IF_ERROR(Sample(&outcome));
    if (!outcome.failure) TUNEONCE_RETURN_IF_ERROR(CheckAgain(&outcome));
    if (outcome.failure) {
      outcome.a_us.clear();
      outcome.b_us.clear();
    }
    return outcome;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Status CheckCancelled() const {
    if (!options_.stop.stop_requested()) return Status();
    return CancelledError("the comparison was cancelled");
  }
  Result<PreparedTrial> Prepare(const Candidate& candidate, bool is_reference) {
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (is_reference) TUNEONCE_RETURN_IF_ERROR(place_.Open());
    MutexLock lock(measuring_lock_);
    PreparedTrial prepared = place_.runner().Prepare(candidate, is_reference);
    TUNEONCE_RETURN_IF_ERROR(prepared.fatal);
    return prepared;
  }
  /// Pairs until they tell enough.
  Status Sample(PairedOutcome* outcome) {
    began_ = Clock::now();
    for (bool is_warmup = true; is_warmup || !IsEnough(*outcome); is_warmup = false) {
      TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
      Result<std::vector<double>> pair = SamplePair(outcome);
      if (outcome->failure) return Status();
      if (pair.status().code() == StatusCode::kUnavailable && place_.runner().TimeInAnotherWay()) {
        outcome->a_us.clear();
        outcome->b_us.clear();
        continue;
      }
      TUNEONCE_RETURN_IF_ERROR(pair.status());
      if (is_warmup) continue;  // The clocks rise, and caches fill.
      outcome->a_us.push_back((*pair)[0]);
      outcome->b_us.push_back((*pair)[1]);
      spent_ms_ += ((*pair)[0] + (*pair)[1]) / 1000;
    }
    return Status();
  }
  /// Takes one sample of each, A's first. Errors: those of A or of both; an error of B alone is `outcome->failure`.
  Result<std::vector<double>> SamplePair(PairedOutcome* outcome) {
    const bool a_first = random_() % 2 == 0;
    const std::vector<std::size_t> order =
        a_first ? std::vector<std::size_t>{a_.trial, b_.trial} : std::vector<std::size_t>{b_.trial, a_.trial};
    Result<std::vector<double>> times = SampleTrials(order);
    if (!times.ok()) {
      if (times.status().sticky() || times.status().code() == StatusCode::kUnavailable) return times;
      // Whose fault was it? Each alone.
      Result<std::vector<double>> a = SampleTrials({a_.trial});
      if (!a.ok()) return a.status().sticky() ? a.status() : a.status().WithPrefix("A");
      Result<std::vector<double>> b = SampleTrials({b_.trial});
      if (!b.ok() && (b.status().sticky() || b.status().code() == StatusCode::kUnavailable)) return b;
      if (!b.ok()) {
        outcome->failure =
            absl::StrCat(std::string(OutcomeName(place_.runner().LossOf(b_.trial))), ": ", b.status().message());
        return b;
      }
      times = std::vector<double>{a_first ? a->front() : b->front(), a_first ? b->front() : a->front()};
    }
    if (!a_first) std::swap((*times)[0], (*times)[1]);
    if (!IsTime((*times)[0])) return InternalError("A: the timer returned a time that is not a positive number");
    if (!IsTime((*times)[1])) outcome->failure = "run: the timer returned a time that is not a positive number";
    return times;
  }
  Result<std::vector<double>> SampleTrials(const std::vector<std::size_t>& trials) {
    MutexLock lock(measuring_lock_);
    return place_.runner().Sample(trials);
  }
  bool IsEnough(const PairedOutcome& outcome) const {
    const auto pairs = static_cast<int>(outcome.a_us.size());
    if (pairs < 2) return false;
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    if (pairs >= options_.max_rounds || options_.budgets.race.count() <= seconds * 1000) return true;
    if (pairs < kMinPairs) return false;
    return spent_ms_ >= options_.budgets.gpu.count() ||
           LogMargin(*PairedSpeedup(outcome.a_us, outcome.b_us)) <= kNarrow;
  }
  Status CheckAgain(PairedOutcome* outcome) {
    for (PreparedTrial* trial : {&a_, &b_}) {
      TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
      MutexLock lock(measuring_lock_);
      *trial = place_.runner().CheckAgain(*trial);
      TUNEONCE_RETURN_IF_ERROR(trial->fatal);
    }
    if (a_.failure) return InternalError("A: " + WhyOf(*a_.failure));
    if (b_.failure) SetFailure(*b_.failure, outcome);
    outcome->largest_difference = b_.largest_difference;
    return Status();
  }

  TrialPlace& place_;
  Mutex& measuring_lock_;
  const SearchOptions& options_;
  std::mt19937_64 random_;
  PreparedTrial a_;
  PreparedTrial b_;
  Clock::time_point began_;
  double spent_ms_ = 0;
};

}  // namespace

Result<PairedOutcome> RunPairedRace(TrialPlace& place, Mutex& measuring_lock, const SearchOptions& options,
                                    const Candidate& a, const Candidate& b) {
  return PairedRace(place, measuring_lock, options).Run(a, b);
}

}  // namespace v0
}  // namespace tuneonce
