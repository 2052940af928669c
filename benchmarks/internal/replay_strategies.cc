// Replays searches on a recorded table: how close to the table's best time each budget of trials comes.
//
// A strategy is told the mean of a config's samples as its time, or that it failed. The fraction of one search after so
// many trials is the table's best mean time divided by the best mean time that the search found (0: it found none). The
// tables name no baseline, so that searches have none; with --transfer-from they have a portfolio.
//
// With --seconds a search is also given time: what the table says that its configs' compiling and measuring took, and
// the CPU time of the proposals. --compilers compile a proposal's configs, and each is measured as soon as it is
// compiled, one at a time. Our engine does so, and proposes as many as there are compilers, but at least 8. With
// --compilers 1 configs compile one after the other, as in Kernel Tuner and Triton.
//
// With --repeat the searches are repeated tunes of one key: they have one seed, and differ by noise. A strategy is told
// the least of three samples of a config, the first recorded one, which warms up, and two others drawn at random, as
// our engine measures a trial. A race over further random samples selects among the fastest configs. Two searches
// differ by the mean times of the configs that they selected, without the first samples.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "measure/race.h"
#include "recorded_space.h"
#include "search/exhaustive_strategy.h"
#include "search/guided_strategy.h"
#include "search/portfolio.h"
#include "search/random_strategy.h"

namespace tuneonce {
namespace {

struct Options {
  std::string table;
  std::vector<std::string> transfer_from;
  std::vector<std::size_t> budgets = {25, 50, 100, 200};
  std::vector<double> seconds;
  std::size_t compilers = 16;
  int searches = 20;
  std::string strategy = "guided";
  bool stops = false;
  bool repeats = false;
  bool json = false;
};

/// What the searches of a table came to.
struct Outcome {
  std::vector<std::vector<double>> fractions;             ///< By budget, then by search.
  std::vector<std::vector<double>> fractions_of_seconds;  ///< By --seconds, then by search.
  std::vector<double> cpu_ms;                             ///< Of each proposal.
  std::vector<double> trials;                             ///< Of each search.
  std::vector<double> selected_us;  ///< With --repeat, the mean time of what each search selected.
};

/// Shares of the pairs of repeated searches.
struct Repeats {
  double is_same_time = 0;  ///< The selected configs have the same mean time: mostly they are one config.
  double is_within_1pct = 0;
  double is_within_2pct = 0;
  double largest_difference = 0;  ///< A fraction.
};

std::unique_ptr<SearchStrategy> MakeStrategy(const std::string& name, const StrategySpace& space) {
  if (name == "random") return std::make_unique<RandomStrategy>(space.num_configs());
  if (name == "exhaustive") return std::make_unique<ExhaustiveStrategy>(space.num_configs());
  return std::make_unique<GuidedStrategy>(space);
}

/// Returns the relative speed of each of `recorded`'s configs in another table (CoverElsewheres).
std::vector<double> RelativeSpeeds(const RecordedSpace& recorded, const RecordedSpace& elsewhere) {
  std::map<std::string, double> times_us;
  for (std::size_t i = 0; i < elsewhere.configs.size(); ++i) {
    if (elsewhere.times_us[i]) times_us[elsewhere.configs[i]] = *elsewhere.times_us[i];
  }
  std::vector<double> speeds(recorded.configs.size(), 0);
  double fastest = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    auto found = times_us.find(recorded.configs[i]);
    if (found != times_us.end()) speeds[i] = 1 / found->second;
    fastest = std::max(fastest, speeds[i]);
  }
  for (double& speed : speeds) speed /= fastest > 0 ? fastest : 1;
  return speeds;
}

std::optional<std::vector<std::size_t>> PortfolioFor(const RecordedSpace& recorded,
                                                     const std::vector<std::string>& paths, std::string* error) {
  std::vector<std::vector<double>> speeds;
  for (const std::string& path : paths) {
    std::optional<RecordedSpace> elsewhere = ReadRecordedSpace(path, error);
    if (!elsewhere) return std::nullopt;
    if (elsewhere->axis_names != recorded.axis_names) {
      *error = path + " has other axes than " + recorded.path;
      return std::nullopt;
    }
    speeds.push_back(RelativeSpeeds(recorded, *elsewhere));
  }
  return CoverElsewheres(speeds);
}

/// Returns one of the config's samples after the first, which warms up.
double DrawSample(const RecordedSpace& recorded, std::size_t config, std::mt19937_64& random) {
  const std::vector<double>& samples = recorded.samples_us[config];
  return samples.size() == 1 ? samples.front() : samples[1 + random() % (samples.size() - 1)];
}

/// Returns the time of a trial as SearchEngine::SampleTrial measures it: the least of three samples, the warm-up and
/// two others.
double DrawTrial(const RecordedSpace& recorded, std::size_t config, std::mt19937_64& random) {
  const double first_us = DrawSample(recorded, config, random);
  return std::min({recorded.samples_us[config].front(), first_us, DrawSample(recorded, config, random)});
}

/// Returns the mean of the samples after the first. Infinite if the config failed.
double WarmTime(const RecordedSpace& recorded, std::size_t config) {
  const std::vector<double>& samples = recorded.samples_us[config];
  if (samples.size() < 2) return recorded.times_us[config].value_or(std::numeric_limits<double>::infinity());
  return std::accumulate(samples.begin() + 1, samples.end(), 0.0) / static_cast<double>(samples.size() - 1);
}

double BestWarmTime(const RecordedSpace& recorded) {
  double best_us = std::numeric_limits<double>::infinity();
  for (std::size_t config = 0; config < recorded.configs.size(); ++config) {
    best_us = std::min(best_us, WarmTime(recorded, config));
  }
  return best_us;
}

/// Returns what a race selects among the configs that were tried, as SearchEngine::LimitRace admits them.
std::size_t RaceOf(const RecordedSpace& recorded, const std::vector<StrategyTrial>& trials, std::mt19937_64& random) {
  constexpr std::size_t kMostRacing = 30;
  constexpr double kSlow = 1.3;
  std::vector<std::pair<double, std::size_t>> fastest;
  for (const StrategyTrial& trial : trials) {
    if (trial.kind == OutcomeKind::kMeasured) fastest.emplace_back(trial.time_us, trial.config);
  }
  std::sort(fastest.begin(), fastest.end());
  std::vector<std::size_t> entrants;
  for (const auto& [time_us, config] : fastest) {
    if (entrants.size() < kMostRacing && time_us <= kSlow * fastest.front().first) entrants.push_back(config);
  }
  std::sort(entrants.begin(), entrants.end());  // In the space's order.
  Race race(entrants.size());
  for (std::vector<std::size_t> round = race.NextRound(); !round.empty(); round = race.NextRound()) {
    std::vector<double> samples_us;
    for (std::size_t entrant : round) samples_us.push_back(DrawSample(recorded, entrants[entrant], random));
    race.Record(samples_us);
  }
  return entrants[*race.Selected()];
}

/// When the trials of one search end, in seconds since its start.
class Clock {
 public:
  explicit Clock(std::size_t num_compilers) : compilers_(num_compilers) {}

  double now_s() const { return now_s_; }

  /// Returns when each of a proposal's configs was measured. The proposal itself took `cpu_s`.
  std::vector<double> Try(const std::vector<std::size_t>& configs, double cpu_s, const RecordedSpace& recorded) {
    std::vector<double> free_at_s(compilers_, now_s_ + cpu_s);
    std::vector<std::pair<double, std::size_t>> compiled;  // When, and which one of `configs`.
    for (std::size_t i = 0; i < configs.size(); ++i) {
      double& compiler = *std::min_element(free_at_s.begin(), free_at_s.end());
      compiler += recorded.compile_ms[configs[i]] / 1000;
      compiled.emplace_back(compiler, i);
    }
    std::sort(compiled.begin(), compiled.end());
    std::vector<double> measured_at_s(configs.size());
    for (const auto& [at_s, i] : compiled) {
      now_s_ = std::max(now_s_, at_s) + recorded.measure_ms[configs[i]] / 1000;
      measured_at_s[i] = now_s_;
    }
    return measured_at_s;
  }

 private:
  std::size_t compilers_;
  double now_s_ = 0;
};

/// One trial of a search: when it ended, and the config's time, infinite if it failed.
struct Trial {
  double at_s = 0;
  double time_us = std::numeric_limits<double>::infinity();
};

/// Adds the fractions that one search had come to after each budget and each of the given seconds.
void AddFractions(const Options& options, double table_best_us, const std::vector<Trial>& search, Outcome* outcome) {
  auto fraction = [&](auto is_done) {
    double best_us = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < search.size(); ++i) {
      if (is_done(i)) best_us = std::min(best_us, search[i].time_us);
    }
    return table_best_us / best_us;
  };
  for (std::size_t b = 0; b < options.budgets.size(); ++b) {
    outcome->fractions[b].push_back(fraction([&](std::size_t i) { return i < options.budgets[b]; }));
  }
  for (std::size_t s = 0; s < options.seconds.size(); ++s) {
    auto is_in_time = [&](std::size_t i) { return search[i].at_s <= options.seconds[s]; };
    outcome->fractions_of_seconds[s].push_back(fraction(is_in_time));
  }
}

/// Runs one search until it has the most trials and seconds that are asked for, has tried all configs, or, if `stops`,
/// expects too little.
void Search(const SearchStrategy& strategy, const RecordedSpace& recorded, const Options& options,
            SearchHistory history, std::uint64_t noise, Outcome* outcome) {
  std::mt19937_64 random(noise);
  const std::size_t most = *std::max_element(options.budgets.begin(), options.budgets.end());
  const double longest_s =
      options.seconds.empty() ? 0 : *std::max_element(options.seconds.begin(), options.seconds.end());
  if (longest_s > 0) history.batch_size = std::max(history.batch_size, options.compilers);  // SearchEngine::NextBatch.
  Clock clock(options.compilers);
  std::vector<Trial> search;
  while (search.size() < most || clock.now_s() < longest_s) {
    const std::clock_t begin = std::clock();
    const Proposal proposal = strategy.Propose(history);
    outcome->cpu_ms.push_back(1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    if (proposal.configs.empty() || (options.stops && proposal.should_stop())) break;
    const std::vector<double> at_s = clock.Try(proposal.configs, outcome->cpu_ms.back() / 1000, recorded);
    for (std::size_t i = 0; i < proposal.configs.size(); ++i) {
      const std::size_t config = proposal.configs[i];
      const std::optional<double>& time_us = recorded.times_us[config];
      const double told_us = time_us && options.repeats ? DrawTrial(recorded, config, random) : time_us.value_or(0);
      history.trials.push_back(
          {config, time_us ? OutcomeKind::kMeasured : OutcomeKind::kRun, told_us, recorded.compile_ms[config]});
      search.push_back({at_s[i], time_us.value_or(Trial().time_us)});
    }
  }
  AddFractions(options, recorded.best_us, search, outcome);
  outcome->trials.push_back(static_cast<double>(std::min(most, search.size())));
  if (options.repeats) {
    outcome->selected_us.push_back(WarmTime(recorded, RaceOf(recorded, history.trials, random)));
  }
}

Repeats RepeatsOf(const std::vector<double>& selected_us) {
  Repeats repeats;
  double num_pairs = 0;
  for (std::size_t a = 0; a < selected_us.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b, ++num_pairs) {
      const auto [low, high] = std::minmax(selected_us[a], selected_us[b]);
      const double difference = high / low - 1;
      repeats.is_same_time += difference == 0;
      repeats.is_within_1pct += difference <= 0.01;
      repeats.is_within_2pct += difference <= 0.02;
      repeats.largest_difference = std::max(repeats.largest_difference, difference);
    }
  }
  for (double* share : {&repeats.is_same_time, &repeats.is_within_1pct, &repeats.is_within_2pct})
    *share /= std::max(num_pairs, 1.0);
  return repeats;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Returns the tenth percentile: at most a tenth of the values are smaller.
double Percentile10(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 10];
}

/// Returns what the searches came to at each of `limits`, and prints it unless the output is JSON. `unit` is what the
/// limits count, and `name` what one is called.
template <typename T>
nlohmann::ordered_json Fractions(const Options& options, const std::vector<T>& limits, const char* name,
                                 const char* unit, const std::vector<std::vector<double>>& fractions) {
  nlohmann::ordered_json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const double mean = Mean(fractions[i]);
    const double low = Percentile10(fractions[i]);
    rows.push_back({{name, limits[i]}, {"fraction_mean", mean}, {"fraction_p10", low}});
    if (!options.json) {
      std::printf("%6g %s: mean %.4f, p10 %.4f\n", static_cast<double>(limits[i]), unit, mean, low);
    }
  }
  return rows;
}

void Print(const Options& options, const RecordedSpace& recorded, const Outcome& outcome) {
  if (!options.json) std::printf("%s: %zu configs\n", recorded.path.c_str(), recorded.configs.size());
  const nlohmann::ordered_json budgets = Fractions(options, options.budgets, "budget", "trials", outcome.fractions);
  const nlohmann::ordered_json seconds =
      Fractions(options, options.seconds, "seconds", "seconds", outcome.fractions_of_seconds);
  const Repeats repeats = RepeatsOf(outcome.selected_us);
  if (options.json) {
    nlohmann::ordered_json report = {
        {"table", recorded.path}, {"configs", recorded.configs.size()}, {"budgets", budgets}};
    if (!seconds.empty()) {
      report["seconds"] = seconds;
      report["compilers"] = options.compilers;
    }
    if (options.repeats) {
      report["repeats"] = {{"same_time", repeats.is_same_time},
                           {"within_1pct", repeats.is_within_1pct},
                           {"within_2pct", repeats.is_within_2pct},
                           {"largest_difference", repeats.largest_difference},
                           {"fraction_mean", BestWarmTime(recorded) / Mean(outcome.selected_us)},
                           {"trials_mean", Mean(outcome.trials)}};
    }
    std::printf("%s\n", report.dump(2).c_str());
    return;
  }
  std::printf("CPU per batch: mean %.1f ms, most %.1f ms; trials per search: mean %.1f\n", Mean(outcome.cpu_ms),
              *std::max_element(outcome.cpu_ms.begin(), outcome.cpu_ms.end()), Mean(outcome.trials));
  if (options.repeats) {
    std::printf("pairs of searches: same time %.4f, within 1 %% %.4f, within 2 %% %.4f; largest difference %.4f\n",
                repeats.is_same_time, repeats.is_within_1pct, repeats.is_within_2pct, repeats.largest_difference);
  }
}

int Run(const Options& options) {
  std::string error;
  std::optional<RecordedSpace> recorded = ReadRecordedSpace(options.table, &error);
  std::optional<std::vector<std::size_t>> portfolio;
  if (recorded) portfolio = PortfolioFor(*recorded, options.transfer_from, &error);
  if (!portfolio) {
    std::fprintf(stderr, "replay_strategies: %s\n", error.c_str());
    return 1;
  }
  std::unique_ptr<SearchStrategy> strategy = MakeStrategy(options.strategy, recorded->space);
  Outcome outcome;
  outcome.fractions.resize(options.budgets.size());
  outcome.fractions_of_seconds.resize(options.seconds.size());
  for (int search = 0; search < options.searches; ++search) {
    SearchHistory history;
    history.portfolio = *portfolio;
    const std::uint64_t seed = static_cast<std::uint64_t>(search) + 1;
    if (!options.repeats) history.seed = seed;
    Search(*strategy, *recorded, options, std::move(history), seed, &outcome);
  }
  Print(options, *recorded, outcome);
  return 0;
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("Replays searches on a recorded table: the fraction of its best speed that each budget of trials finds");
  tuneonce::Options options;
  app.add_option("--table", options.table, "Table: a CSV file, plain or compressed by gzip")->required();
  app.add_option("--transfer-from", options.transfer_from,
                 "Tables of the same axes, whose best configs are tried first")
      ->delimiter(',');
  app.add_option("--budgets", options.budgets, "Numbers of trials (default 25,50,100,200)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "Times after which to say what a search has found, such as 30,60,120")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--compilers", options.compilers, "With --seconds: how many configs compile at a time (default 16)")
      ->check(CLI::PositiveNumber);
  app.add_option("--searches", options.searches, "Searches, by the seeds 1, 2, ... (default 20)")
      ->check(CLI::PositiveNumber);
  app.add_option("--strategy", options.strategy, "guided (default), random or exhaustive")
      ->check(CLI::IsMember({"guided", "random", "exhaustive"}));
  app.add_flag("--stop", options.stops, "End each search where the strategy expects less than 1 % more");
  app.add_flag("--repeat", options.repeats,
               "Repeat the search of one seed, with other samples of the configs each time");
  app.add_flag("--json", options.json, "JSON instead of a table");
  CLI11_PARSE(app, argc, argv);
  return tuneonce::Run(options);
}
