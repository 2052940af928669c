#include "store/record_preference.h"

#include <limits>
#include <optional>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Decides if one of them has more of it than the other.
template <typename T>
std::optional<RecordPreference> More(const T& first, const T& second, const char* why) {
  if (first > second) return RecordPreference{false, why};
  if (second > first) return RecordPreference{true, why};
  return std::nullopt;
}

template <typename T>
std::optional<RecordPreference> Less(const T& first, const T& second, const char* why) {
  if (first < second) return RecordPreference{false, why};
  if (second < first) return RecordPreference{true, why};
  return std::nullopt;
}

bool IsMeasured(const TuningRecord& record) { return record.best.measurement.num_samples > 0; }

/// Returns half of the confidence interval as a fraction of the mean, or infinity if unknown.
double Uncertainty(const TuningRecord& record) {
  const Measurement& measured = record.best.measurement;
  bool is_known = measured.error_margin_us.has_value() && measured.mean_us > 0;
  return is_known ? *measured.error_margin_us / measured.mean_us : std::numeric_limits<double>::infinity();
}

std::optional<RecordPreference> ByWhatTheyAre(const TuningRecord& first, const TuningRecord& second) {
  if (auto token = More(first.fencing_token, second.fencing_token, "of the higher fencing token")) return token;
  if (auto pinned = More(first.is_pinned, second.is_pinned, "pinned")) return pinned;
  if (first.is_pinned) return More(first.unix_seconds, second.unix_seconds, "pinned later");
  if (auto own = More(!first.is_imported(), !second.is_imported(), "measured, not imported")) return own;
  if (auto measured = More(IsMeasured(first), IsMeasured(second), "measured")) return measured;
  const auto level = [](const TuningRecord& record) { return static_cast<int>(record.verification.level); };
  if (auto verified = More(level(first), level(second), "verified more strictly")) return verified;
  if (auto complete = More(first.is_complete, second.is_complete, "complete")) return complete;
  if (first.is_complete) return std::nullopt;
  return Less(first.num_not_measured, second.num_not_measured, "of the search that measured more");
}

std::optional<RecordPreference> ByPolicy(const TuningRecord& first, const TuningRecord& second, PreferRecord by) {
  const bool are_measured = IsMeasured(first) && IsMeasured(second);
  std::optional<RecordPreference> preferred;
  if (by == PreferRecord::kBest && are_measured) {
    if (first.tuned_at != second.tuned_at) {
      return More(first.unix_seconds, second.unix_seconds, "newer, since their times are of different shapes");
    }
    preferred = Less(first.best.measurement.mean_us, second.best.measurement.mean_us, "faster");
  }
  if (by == PreferRecord::kMostCertain && are_measured) {
    preferred = More(first.is_conclusive, second.is_conclusive, "certain");
    if (!preferred) preferred = Less(Uncertainty(first), Uncertainty(second), "of the smaller error margin");
    if (!preferred) {
      preferred = More(first.best.measurement.num_samples, second.best.measurement.num_samples, "of more samples");
    }
  }
  return preferred ? preferred : More(first.unix_seconds, second.unix_seconds, "newer");
}

}  // namespace

ServingRank ServingRankOf(const TuningRecord& record) {
  if (record.is_imported()) return ServingRank::kImported;
  return record.is_complete || record.is_pinned ? ServingRank::kComplete : ServingRank::kCutShort;
}

RecordPreference PreferOf(const TuningRecord& first, const TuningRecord& second, PreferRecord by) {
  if (auto preferred = ByWhatTheyAre(first, second)) return *preferred;
  if (!first.is_pinned) {
    if (auto preferred = ByPolicy(first, second, by)) return *preferred;
  }
  bool are_same = EncodeRecord(first) == EncodeRecord(second);
  return {false, are_same ? "they are the same" : "first given"};
}

}  // namespace v0
}  // namespace tuneonce
