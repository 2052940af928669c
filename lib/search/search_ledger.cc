#include "search/search_ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

/// A race on all ranks costs each of them what it takes: so many finalists at most, beside the baseline.
constexpr std::size_t kMostFinalists = 8;

const TriedCandidate* FindIn(const SearchAnswer& answer, std::uint64_t place) {
  auto at = [&](std::uint64_t wanted_place) -> const TriedCandidate* {
    auto found = std::find_if(answer.tried.begin(), answer.tried.end(),
                              [&](const TriedCandidate& tried) { return tried.place == wanted_place; });
    return found == answer.tried.end() ? nullptr : &*found;
  };
  const TriedCandidate* found = at(place);
  if (found == nullptr || found->kind != TriedCandidate::kDuplicate) return found;
  // Of candidates with the same code one was measured. Another rank may send anything, so circular references end here.
  const TriedCandidate* measured = at(found->same_as);
  return measured != nullptr && measured->kind != TriedCandidate::kDuplicate ? measured : found;
}

/// By what times of this answer are divided. Empty: its baseline failed, and with that all it says.
std::optional<double> YardstickOf(const SearchAnswer& answer, std::optional<std::uint64_t> baseline) {
  if (!baseline) return 1;
  const TriedCandidate* measured = FindIn(answer, *baseline);
  if (measured == nullptr || measured->kind != TriedCandidate::kMeasured) return std::nullopt;
  return measured->success.measurement.mean_us;
}

/// The best of them, but for the baseline, in the order of the list.
std::vector<std::uint64_t> BestOf(const std::map<std::uint64_t, double>& scores,
                                  std::optional<std::uint64_t> baseline) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [place, score] : scores) best = std::min(best, score);
  std::vector<std::pair<double, std::uint64_t>> near;
  for (const auto& [place, score] : scores) {
    if (place != baseline && score <= best * (1 + kFinalsMargin)) near.emplace_back(score, place);
  }
  std::sort(near.begin(), near.end());
  near.resize(std::min(near.size(), kMostFinalists));
  std::vector<std::uint64_t> places;
  for (const auto& [score, place] : near) places.push_back(place);
  std::sort(places.begin(), places.end());
  return places;
}

void Add(const TuningCost& part, TuningCost* cost) {
  cost->compile_seconds += part.compile_seconds;
  cost->num_compiled += part.num_compiled;
  cost->gpu_seconds += part.gpu_seconds;
  cost->num_launches += part.num_launches;
  cost->num_rounds += part.num_rounds;
  cost->peak_bytes = std::max(cost->peak_bytes, part.peak_bytes);
  cost->workers_replaced += part.workers_replaced;
}

}  // namespace

SearchLedger::SearchLedger(std::size_t num_candidates, std::optional<std::uint64_t> baseline)
    : num_candidates_(num_candidates), baseline_(baseline) {}

void SearchLedger::Take(int rank, SearchAnswer answer) {
  const std::optional<double> yardstick = YardstickOf(answer, baseline_);
  if (!answer.status.ok() || !yardstick) return;
  for (TriedCandidate& tried : answer.tried) {
    tried.success.ties_with_fastest = false;  // With its share's, which may be far from the fastest.
    auto [known, is_new] = tried_.try_emplace(tried.place, tried);
    const bool gives_way = known->second.kind == TriedCandidate::kNotMeasured;
    if (!is_new && !gives_way) continue;
    known->second = tried;
    if (tried.kind == TriedCandidate::kMeasured) scores_[tried.place] = tried.success.measurement.mean_us / *yardstick;
  }
  ranks_.insert(rank);
  Add(answer.cost, &cost_);
}

std::vector<std::uint64_t> SearchLedger::Open() const {
  std::vector<std::uint64_t> open;
  for (std::uint64_t place = 0; place < num_candidates_; ++place) {
    if (place != baseline_ && tried_.count(place) == 0) open.push_back(place);
  }
  return open;
}

std::vector<std::uint64_t> SearchLedger::Finalists() const {
  if (scores_.empty()) return {};
  std::vector<std::uint64_t> places = BestOf(scores_, baseline_);
  if (baseline_ && scores_.count(*baseline_) > 0) places.insert(places.begin(), *baseline_);
  return places;
}

std::vector<std::uint64_t> SearchLedger::FinalistsOf(const SearchAnswer& share, std::optional<std::uint64_t> baseline) {
  std::map<std::uint64_t, double> scores;
  for (const TriedCandidate& tried : share.tried) {
    if (tried.kind == TriedCandidate::kMeasured) scores[tried.place] = tried.success.measurement.mean_us;
  }
  return BestOf(scores, baseline);
}

void SearchLedger::TakeFinals(int rank, SearchAnswer answer) {
  if (!answer.status.ok()) return;
  is_certain_ = is_certain_ && answer.is_conclusive;
  ranks_.insert(rank);
  Add(answer.cost, &cost_);
  finals_.push_back({rank, std::move(answer)});
}

std::vector<double> SearchLedger::TimesOf(std::uint64_t place) const {
  std::vector<double> times_us;
  for (const Share& share : finals_) {
    const TriedCandidate* tried = FindIn(share.answer, place);
    if (tried == nullptr || tried->kind != TriedCandidate::kMeasured) return {};
    times_us.push_back(tried->success.measurement.mean_us);
  }
  return times_us;
}

std::optional<double> SearchLedger::TimeOf(std::uint64_t place, RankPolicy::Minimize minimize) const {
  const std::vector<double> times_us = TimesOf(place);
  return times_us.empty() ? std::nullopt : std::optional<double>(CountingTime(times_us, minimize));
}

std::optional<std::uint64_t> SearchLedger::Selected(const std::vector<std::uint64_t>& finalists,
                                                    const FinalsOptions& options) const {
  std::vector<std::vector<double>> times_us;
  for (std::uint64_t place : finalists) times_us.push_back(TimesOf(place));
  const std::optional<std::size_t> selection = ChooseForAll(times_us, options);
  return selection ? std::optional<std::uint64_t>(finalists[*selection]) : std::nullopt;
}

const TriedCandidate* SearchLedger::Find(std::uint64_t place) const {
  const TriedCandidate* worst = nullptr;
  for (const Share& share : finals_) {
    const TriedCandidate* tried = FindIn(share.answer, place);
    if (tried == nullptr) continue;
    if (tried->kind == TriedCandidate::kFailed) return tried;
    const bool is_worse = worst == nullptr || tried->success.measurement.mean_us > worst->success.measurement.mean_us;
    if (tried->kind == TriedCandidate::kMeasured && is_worse) worst = tried;
  }
  if (worst != nullptr) return worst;
  auto found = tried_.find(place);
  return found == tried_.end() ? nullptr : &found->second;
}

bool SearchLedger::is_conclusive() const { return is_certain_; }
TuningCost SearchLedger::cost() const { return cost_; }

}  // namespace v0
}  // namespace tuneonce
