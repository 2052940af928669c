#include <algorithm>
#include <cctype>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::string_view kOccupancyHint = "occupancy";
constexpr std::string_view kNumCtasHint = "num_cta_in_cga";
constexpr std::string_view kNumWorkerWarps = "num_worker_warps_per_cta";

bool IsPowerOfTwo(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

bool IsTargetName(const std::string& name) {
  return name == "default" ||
         (name.size() > 3 && name.compare(0, 3, "sm_") == 0 &&
          std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isdigit(c); }));
}

Status CheckValue(std::string_view hint, std::int64_t value, std::int64_t max_ctas) {
  auto outside = [&](std::string_view range) {
    return InvalidArgumentError(absl::StrCat("hint ", std::string(hint), "=", value, " is not ", std::string(range)));
  };
  if (hint == kOccupancyHint && (value < 1 || value > 32)) return outside("within 1 to 32");
  if (hint == kNumWorkerWarps && (!IsPowerOfTwo(value) || value > 32)) return outside("a power of two up to 32");
  if (hint == kNumCtasHint) {
    if (!IsPowerOfTwo(value) || value > 16) return outside("a power of two up to 8");
    if (value > max_ctas)
      return outside("a portable cluster size (up to 8): allow non-portable clusters to use larger ones");
  }
  return Status();
}

}  // namespace

std::string_view BytecodeHintName(std::string_view name) {
  if (name == kOccupancyHint) return kOccupancyHint;
  if (name == "num_ctas" || name == kNumCtasHint) return kNumCtasHint;
  if (name == "num_worker_warps" || name == kNumWorkerWarps) return kNumWorkerWarps;
  return "";
}

Hints Hints::OfConfig(const Config& config) {
  HintValues values;
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    if (config.Kind(i) != AxisKind::kHint) continue;
    auto value = std::get<std::int64_t>(config.values()[i]);
    if (value != kHintNotSet) values[config.AxisName(i)] = value;
  }
  return values.empty() ? Hints() : Hints(std::move(values));
}

HintValues Hints::For(const Target& target) const {
  HintValues values;
  for (const std::string& name : {target.name(), std::string("default")}) {
    auto it = by_target().find(name);
    // Does not replace existing values.
    if (it != by_target().end()) values.insert(it->second.begin(), it->second.end());
  }
  return values;
}

std::string Hints::ToString(const Target& target) const {
  return absl::StrJoin(For(target), ", ", [](std::string* out, const auto& hint) {
    absl::StrAppend(out, hint.first, "=", std::int64_t{hint.second});
  });
}

tuneonce::Fingerprint Hints::Fingerprint() const {
  Fingerprinter fingerprint;
  fingerprint.Add(static_cast<std::uint64_t>(update_));
  for (const auto& [target, values] : by_target()) {
    fingerprint.Add(target).Add(values.size());
    for (const auto& [name, value] : values) fingerprint.Add(name).Add(static_cast<std::uint64_t>(value));
  }
  return fingerprint.Finish();
}

Status Hints::Check() const {
  for (const auto& [target, values] : by_target()) {
    if (!IsTargetName(target)) {
      return InvalidArgumentError(absl::StrCat("hints for '", target, "': a target is 'default' or like 'sm_90'"));
    }
    std::set<std::string_view> seen;
    for (const auto& [name, value] : values) {
      std::string_view hint = BytecodeHintName(name);
      if (hint.empty()) {
        return InvalidArgumentError(absl::StrCat("hints for ", target, ": unknown hint '", name,
                                                 "'; known are occupancy, num_ctas (num_cta_in_cga) and "
                                                 "num_worker_warps (num_worker_warps_per_cta)"));
      }
      if (!seen.insert(hint).second) {
        return InvalidArgumentError(
            absl::StrCat("hints for ", target, ": ", std::string(hint), " is given twice, by both of its names"));
      }
      TUNEONCE_RETURN_IF_ERROR(CheckValue(hint, value, max_ctas_).WithPrefix("hints for " + target));
    }
  }
  return Status();
}

Status Hints::CheckFor(const Target& target) const {
  TUNEONCE_RETURN_IF_ERROR(Check());
  // Clusters exist since sm_90, but not on the 12.x targets (Tile IR and cuTile agree).
  bool has_clusters = target.capability_major >= 9 && target.capability_major != 12;
  for (const auto& [name, value] : For(target)) {
    if (BytecodeHintName(name) == kNumCtasHint && value > 1 && !has_clusters) {
      return InvalidArgumentError(absl::StrCat("hint ", name, "=", std::int64_t{value}, ": ", target.name(),
                                               " has no clusters of more than one block"));
    }
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
