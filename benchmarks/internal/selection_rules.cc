#include "selection_rules.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "measure/race.h"
#include "measure/statistics.h"

namespace tuneonce {
namespace {

std::vector<std::size_t> Shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

/// One config's samples, drawn in random order, as a rule that times one config after another sees them.
class ConfigReplay {
 public:
  ConfigReplay(std::vector<double> column, std::mt19937_64& random)
      : column_(std::move(column)), order_(Shuffled(column_.size(), random)) {}

  double Run(double* gpu_us) {
    double sample = column_[order_[next_++ % order_.size()]];
    *gpu_us += sample + kFlushUs;
    return sample;
  }

 private:
  std::vector<double> column_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

struct CutileCandidate {
  std::size_t config;
  ConfigReplay replay;
  std::vector<double> samples;

  double mean() const { return Summarize(samples).mean_us; }
  /// cuTile takes the normal quantile at any number of samples.
  double margin() const {
    Measurement m = Summarize(samples);
    return *m.error_margin_us / StudentT975(m.num_samples - 1) * 1.96;
  }
  bool converged() const { return margin() <= 0.01 * mean() || margin() <= 0.5 || samples.size() >= 1000; }
  void RunBatch(double* gpu_us) {
    for (int i = 0; i < 5; ++i) samples.push_back(replay.Run(gpu_us));
  }
};

}  // namespace

Selection SelectByRace(const Trace& trace, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order = Shuffled(trace.rounds.size(), random);
  RaceOptions options;
  options.seed = seed;
  Race race(trace.num_configs(), options);
  Selection selection;
  for (std::size_t next = 0;; ++next) {
    std::vector<std::size_t> round = race.NextRound();
    if (round.empty()) break;
    std::vector<double> samples;
    for (std::size_t config : round) samples.push_back(trace.rounds[order[next % order.size()]][config]);
    selection.gpu_us += static_cast<double>(round.size()) * kFlushUs;
    race.Record(samples);
  }
  selection.gpu_us += race.spent_ms() * 1000;
  selection.config = *race.Selected();
  selection.measurement = SummarizeStoppedEarly(race.samples_us(selection.config));
  return selection;
}

Selection SelectAsCutile(const Trace& trace, std::uint64_t seed) {
  constexpr std::size_t kTop = 5;
  std::mt19937_64 random(seed);
  Selection selection;
  std::vector<CutileCandidate> running;
  std::vector<CutileCandidate> converged;
  for (std::size_t i = 0; i < trace.num_configs(); ++i) {
    CutileCandidate candidate{i, ConfigReplay(trace.Column(i), random), {}};
    for (int warmup = 0; warmup < 3; ++warmup) candidate.replay.Run(&selection.gpu_us);
    candidate.RunBatch(&selection.gpu_us);
    (candidate.converged() ? converged : running).push_back(std::move(candidate));
  }
  auto faster = [](const CutileCandidate& a, const CutileCandidate& b) { return a.mean() < b.mean(); };
  while (converged.size() < kTop && !running.empty()) {
    auto fastest = std::min_element(running.begin(), running.end(), faster);
    fastest->RunBatch(&selection.gpu_us);
    if (!fastest->converged()) continue;
    converged.push_back(std::move(*fastest));
    running.erase(fastest);
  }
  std::sort(converged.begin(), converged.end(), faster);
  double cutoff = converged[std::min(kTop, converged.size()) - 1].mean();
  for (CutileCandidate& candidate : running) {
    while (!candidate.converged() && candidate.mean() - candidate.margin() < cutoff) {
      candidate.RunBatch(&selection.gpu_us);
    }
    converged.push_back(std::move(candidate));
  }
  auto best = std::min_element(converged.begin(), converged.end(), faster);
  selection.config = best->config;
  selection.measurement = Summarize(best->samples);
  return selection;
}

Selection SelectAsTriton(const Trace& trace, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Selection selection;
  double best_median = 0;
  for (std::size_t i = 0; i < trace.num_configs(); ++i) {
    ConfigReplay replay(trace.Column(i), random);
    double estimate_us = 0;
    replay.Run(&selection.gpu_us);
    for (int run = 0; run < 5; ++run) estimate_us += (replay.Run(&selection.gpu_us) + kFlushUs) / 5;
    for (double us = 0; us < 25e3; us += estimate_us) replay.Run(&selection.gpu_us);
    std::vector<double> samples;
    for (double us = 0; us < 100e3; us += estimate_us) samples.push_back(replay.Run(&selection.gpu_us));
    auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    if (i > 0 && *middle >= best_median) continue;
    best_median = *middle;
    selection.config = i;
    selection.measurement = Summarize(samples);
  }
  return selection;
}

}  // namespace tuneonce
