#include "search/guided_strategy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

// The constants were chosen by replaying searches on eleven recorded tables of five kernels (replay_strategies).

/// The portfolio takes at most three quarters of a batch, so that a portfolio whose configs are all slow here costs
/// little.
constexpr double kPortfolioShare = 0.75;
/// Until so many trials, half of a batch is spread over the space: a model of fewer trials misses what nobody tried.
constexpr std::size_t kSpreadTrials = 16;
/// The fewest trials that a model is fit to.
constexpr std::size_t kModelTrials = 8;
/// How many random configs TakeSpread chooses from. More would prefer the corners of the space.
constexpr int kSpreadDraws = 12;

/// The most trials that the model is fit to, so that the time of a batch does not grow with the search.
constexpr std::size_t kMostSamples = 512;
constexpr int kTrees = 24;
constexpr double kShareOfFeatures = 0.7;
/// Trees whose mean decides one pick. Fewer explore more.
constexpr int kTreesPerPick = 8;

/// The share of picks within a niche grows with the trials up to kNicheShare at kNicheTrials: a short search has to
/// improve on what it has, a long one has to leave where it got stuck.
constexpr double kNicheShare = 0.8;
constexpr double kNicheTrials = 100;

/// A quarter of a batch goes to neighbours of fast trials: in kNicheLocalShare of the cases of the fastest one of a
/// niche, else of one of the kIncumbents fastest ones.
constexpr double kLocalShare = 0.25;
constexpr double kNicheLocalShare = 0.5;
constexpr std::size_t kIncumbents = 3;

/// How many random configs of a large space are scored. With the neighbours of the best trials on two axes (of
/// kIncumbents) and on one axis (of as many more) that makes some 3,000.
constexpr std::size_t kPool = 2000;

std::size_t Share(double share, std::size_t of) {
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(of)));
}

/// Returns whether a model can be fit to these trials.
bool CanTeach(const std::vector<StrategyTrial>& trials) {
  return trials.size() >= kModelTrials && std::any_of(trials.begin(), trials.end(), [](const StrategyTrial& trial) {
           return trial.kind == OutcomeKind::kMeasured;
         });
}

/// Returns what a model learns from trials, the fastest first and failed ones last.
std::vector<RegressionTrees::Sample> SamplesOf(const std::vector<StrategyTrial>& ranked, RandomNumbers* random) {
  std::vector<RegressionTrees::Sample> samples;
  const auto num_trials = static_cast<double>(ranked.size());
  for (const StrategyTrial& trial : ranked) {
    const bool is_failure = trial.kind != OutcomeKind::kMeasured;
    const double rank = is_failure ? num_trials + 1 : static_cast<double>(samples.size()) + 1;
    samples.push_back({trial.config, static_cast<float>(std::log(rank / (num_trials + 1)))});
  }
  // A long search learns from its fastest trials and from a sample of the others.
  for (std::size_t i = kMostSamples / 2; i < kMostSamples && samples.size() > kMostSamples; ++i) {
    std::swap(samples[i], samples[i + random->Below(samples.size() - i)]);
  }
  samples.resize(std::min(samples.size(), kMostSamples));
  return samples;
}

/// The fewest latest trials whose gain is what the next ones are expected to gain. Of a longer search, its latest half.
constexpr std::size_t kGainTrials = 80;

/// Returns the fraction by which the latest trials are faster than the best one before. Empty if there are too few.
std::optional<double> ExpectedGain(const std::vector<StrategyTrial>& trials) {
  if (trials.size() < 2 * kGainTrials) return std::nullopt;
  const std::size_t num_before = trials.size() - std::max(kGainTrials, trials.size() / 2);
  double before_us = std::numeric_limits<double>::infinity();
  double best_us = before_us;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].kind == OutcomeKind::kMeasured) best_us = std::min(best_us, trials[i].time_us);
    if (i < num_before) before_us = best_us;
  }
  if (std::isinf(best_us)) return std::nullopt;
  return std::isinf(before_us) ? 1 : 1 - best_us / before_us;
}

}  // namespace

/// The configs that have one value on one axis.
struct GuidedStrategy::Niche {
  std::size_t axis = 0;
  std::size_t value = 0;

  bool Has(const StrategySpace& space, std::size_t config) const { return space.config(config)[axis] == value; }
};

struct GuidedStrategy::Round {
  std::vector<StrategyTrial> ranked;                // The fastest one first, failed ones last.
  std::vector<std::vector<std::size_t>> num_tried;  // By axis, then by the value's index.
  std::vector<std::size_t> best;                    // Measured configs, the fastest one first.
  std::vector<std::size_t> pool;                    // The configs to pick from.
  std::vector<std::vector<float>> predictions;      // By tree, then by place in the pool.
  std::vector<float> means;                         // Over the trees, by place in the pool.
};

GuidedStrategy::GuidedStrategy(StrategySpace space) : space_(std::move(space)), features_(space_) {
  for (std::size_t axis = 0; axis < space_.axes.size(); ++axis) {
    for (std::size_t config = 1; config < space_.num_configs(); ++config) {
      if (space_.config(config)[axis] == space_.config(0)[axis]) continue;
      varying_axes_.push_back(axis);
      break;
    }
  }
}

Proposal GuidedStrategy::Propose(const SearchHistory& history) const {
  RandomNumbers random(history.seed, history.trials.size());
  OpenConfigs open(space_.num_configs(), history);
  TakePortfolio(history, &open);
  const std::size_t num_trials = history.trials.size();
  const double spread_share = CanTeach(history.trials) ? (num_trials < kSpreadTrials ? 0.5 : 0) : 1;
  TakeSpread(history, Share(spread_share, history.batch_size), &random, &open);
  Proposal proposal;
  if (open.is_complete()) {
    proposal.configs = open.taken();
    return proposal;
  }
  const Round round = Model(history, open, &random);
  TakeByModel(round, Share(kLocalShare, history.batch_size), &random, &open);
  proposal.configs = open.taken();
  proposal.num_scored = round.pool.size();
  proposal.expected_gain = ExpectedGain(history.trials);
  return proposal;
}

void GuidedStrategy::TakePortfolio(const SearchHistory& history, OpenConfigs* open) {
  const std::size_t most = open->taken().size() + Share(kPortfolioShare, history.batch_size);
  for (std::size_t config : history.portfolio) {
    if (open->taken().size() < most) open->Take(config);
  }
}

double GuidedStrategy::Distance(std::size_t a, std::size_t b) const {
  double distance = 0;
  for (std::size_t axis : varying_axes_) {
    const int steps = std::abs(space_.config(a)[axis] - space_.config(b)[axis]);
    const bool is_ordinal = space_.axes[axis].kind == StrategyAxis::Kind::kOrdinal;
    const auto most_steps = static_cast<double>(space_.axes[axis].values.size() - 1);
    distance += is_ordinal ? steps / most_steps : std::min(steps, 1);
  }
  return distance;
}

void GuidedStrategy::TakeSpread(const SearchHistory& history, std::size_t count, RandomNumbers* random,
                                OpenConfigs* open) const {
  for (std::size_t i = 0; i < count && !open->is_complete(); ++i) {
    std::size_t farthest = 0;
    double farthest_distance = -1;
    for (int draw = 0; draw < kSpreadDraws; ++draw) {
      const std::size_t config = open->Draw(random);
      double distance = std::numeric_limits<double>::infinity();
      for (const StrategyTrial& trial : history.trials) distance = std::min(distance, Distance(config, trial.config));
      for (std::size_t other : open->taken()) distance = std::min(distance, Distance(config, other));
      if (distance <= farthest_distance) continue;
      farthest = config;
      farthest_distance = distance;
    }
    open->Take(farthest);
  }
}

bool GuidedStrategy::AreNeighbours(std::size_t a, std::size_t b, int most_axes) const {
  int num_different = 0;
  for (std::size_t axis : varying_axes_) {
    if (space_.config(a)[axis] != space_.config(b)[axis] && ++num_different > most_axes) return false;
  }
  return true;
}

std::vector<std::size_t> GuidedStrategy::Pool(const std::vector<std::size_t>& best, const OpenConfigs& open,
                                              RandomNumbers* random) const {
  std::vector<std::size_t> pool;
  std::vector<bool> is_in_pool(space_.num_configs(), open.num_open() <= kPool);
  for (std::size_t i = 0; i < kPool && open.num_open() > kPool; ++i) is_in_pool[open.Draw(random)] = true;
  const std::size_t num_incumbents = std::min(best.size(), 2 * kIncumbents);
  for (std::size_t config = 0; config < space_.num_configs(); ++config) {
    if (!open.is_open(config)) continue;
    bool is_wanted = is_in_pool[config];
    for (std::size_t i = 0; i < num_incumbents && !is_wanted; ++i) {
      is_wanted = AreNeighbours(config, best[i], i < kIncumbents ? 2 : 1);
    }
    if (is_wanted) pool.push_back(config);
  }
  // Axes with hundreds of values may have too many neighbours: then a random part of them is scored.
  for (std::size_t i = 0; i < kMostScored && pool.size() > kMostScored; ++i) {
    std::swap(pool[i], pool[i + random->Below(pool.size() - i)]);
  }
  pool.resize(std::min(pool.size(), kMostScored));
  return pool;
}

GuidedStrategy::Round GuidedStrategy::Model(const SearchHistory& history, const OpenConfigs& open,
                                            RandomNumbers* random) const {
  Round round;
  round.ranked = history.trials;
  auto is_failure = [](const StrategyTrial& trial) { return trial.kind != OutcomeKind::kMeasured; };
  std::stable_sort(round.ranked.begin(), round.ranked.end(), [&](const StrategyTrial& a, const StrategyTrial& b) {
    return is_failure(a) != is_failure(b) ? is_failure(b) : !is_failure(a) && a.time_us < b.time_us;
  });
  for (std::size_t axis = 0; axis < space_.axes.size(); ++axis) {
    round.num_tried.emplace_back(space_.axes[axis].values.size(), 0);
    for (const StrategyTrial& trial : round.ranked) ++round.num_tried[axis][space_.config(trial.config)[axis]];
  }
  for (const StrategyTrial& trial : round.ranked) {
    if (!is_failure(trial)) round.best.push_back(trial.config);
  }
  const std::vector<RegressionTrees::Sample> samples = SamplesOf(round.ranked, random);
  const RegressionTrees trees(features_.rows(), samples, kTrees, kShareOfFeatures, random);
  round.pool = Pool(round.best, open, random);
  round.means.assign(round.pool.size(), 0);
  round.predictions.assign(kTrees, std::vector<float>(round.pool.size()));
  for (int tree = 0; tree < kTrees; ++tree) {
    std::vector<float>& predictions = round.predictions[static_cast<std::size_t>(tree)];
    for (std::size_t i = 0; i < round.pool.size(); ++i) {
      predictions[i] = trees.Predict(tree, features_.rows().of(round.pool[i]));
      round.means[i] += predictions[i] / kTrees;
    }
  }
  return round;
}

GuidedStrategy::Niche GuidedStrategy::DrawNiche(const Round& round, RandomNumbers* random) const {
  Niche niche;
  niche.axis = varying_axes_[random->Below(varying_axes_.size())];
  const std::vector<std::size_t>& num_tried = round.num_tried[niche.axis];
  double sum = 0;
  for (std::size_t tried : num_tried) sum += 1 / static_cast<double>(tried + 1);
  double drawn = random->Uniform() * sum;
  for (niche.value = 0; niche.value + 1 < num_tried.size(); ++niche.value) {
    drawn -= 1 / static_cast<double>(num_tried[niche.value] + 1);
    if (drawn < 0) break;
  }
  return niche;
}

std::size_t GuidedStrategy::DrawIncumbent(const Round& round, RandomNumbers* random) const {
  const std::size_t incumbent = round.best[random->Below(std::min(kIncumbents, round.best.size()))];
  if (random->Uniform() >= kNicheLocalShare) return incumbent;
  const Niche niche = DrawNiche(round, random);
  auto found =
      std::find_if(round.best.begin(), round.best.end(), [&](std::size_t config) { return niche.Has(space_, config); });
  return found == round.best.end() ? incumbent : *found;
}

std::vector<float> GuidedStrategy::DrawScores(const Round& round, const std::optional<Niche>& niche,
                                              RandomNumbers* random) const {
  std::vector<float> scores(round.pool.size());
  std::vector<StrategyTrial> in_niche;
  for (const StrategyTrial& trial : round.ranked) {
    if (niche && niche->Has(space_, trial.config)) in_niche.push_back(trial);
  }
  if (CanTeach(in_niche)) {
    const RegressionTrees trees(features_.rows(), SamplesOf(in_niche, random), kTreesPerPick, kShareOfFeatures, random);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!niche->Has(space_, round.pool[i])) continue;
      for (int tree = 0; tree < kTreesPerPick; ++tree) {
        scores[i] += trees.Predict(tree, features_.rows().of(round.pool[i]));
      }
    }
  } else {
    for (int i = 0; i < kTreesPerPick; ++i) {
      const std::vector<float>& predictions = round.predictions[random->Below(kTrees)];
      std::transform(scores.begin(), scores.end(), predictions.begin(), scores.begin(), std::plus<>());
    }
  }
  // The mean of all trees decides between configs for which the drawn ones predict the same.
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += 1e-3F * round.means[i];
  return scores;
}

void GuidedStrategy::TakeByModel(const Round& round, std::size_t num_local, RandomNumbers* random,
                                 OpenConfigs* open) const {
  // Takes the open config of the pool with the lowest score of those that `admits`, if there is one.
  auto take_lowest = [&](const std::vector<float>& scores, auto admits) {
    std::size_t lowest = scores.size();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (lowest < scores.size() && scores[i] >= scores[lowest]) continue;
      if (open->is_open(round.pool[i]) && admits(round.pool[i])) lowest = i;
    }
    return lowest < scores.size() && open->Take(round.pool[lowest]);
  };
  auto any = [](std::size_t) { return true; };

  take_lowest(round.means, any);
  for (std::size_t i = 0; i < num_local; ++i) {
    const std::size_t incumbent = DrawIncumbent(round, random);
    take_lowest(round.means, [&](std::size_t config) { return AreNeighbours(config, incumbent, 1); });
  }
  const auto num_trials = static_cast<double>(round.ranked.size());
  const double niche_share = kNicheShare * std::min(1.0, num_trials / kNicheTrials);
  while (!open->is_complete()) {
    if (random->Uniform() < niche_share) {
      const Niche niche = DrawNiche(round, random);
      auto has = [&](std::size_t config) { return niche.Has(space_, config); };
      if (take_lowest(DrawScores(round, niche, random), has)) continue;
    }
    if (!take_lowest(DrawScores(round, std::nullopt, random), any)) open->Take(open->Draw(random));
  }
}

}  // namespace v0
}  // namespace tuneonce
