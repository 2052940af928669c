// Replays a folder of recorded timings as a search, many times, with our stopping rule, cuTile's and Triton's.
//
// Each rule sees the samples of its own way of timing: ours cupti_cold.csv, cuTile's graph_event_cold.csv, Triton's
// event_cold.csv (cupti_cold.csv where the folder lacks the file). What is best in the long run is the mean of
// cupti_cold.csv over all rounds, for all three.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "measure/race.h"
#include "selection_rules.h"

namespace tuneonce {
namespace {

struct Rule {
  std::string name;
  std::string file;
  std::function<Selection(const Trace&, std::uint64_t)> select;
};

struct Outcome {
  double within_1pct = 0;  ///< Share of searches whose selection is within 1 % of the long-run best.
  double gpu_ms = 0;       ///< Mean per search.
  double agreement = 0;    ///< Probability that two searches choose the same.
  /// By which fraction the slowest config that a search selected takes longer than the fastest one, in the long run.
  double largest_difference = 0;
  double coverage = 0;  ///< Share of searches whose interval for the selection holds that config's long-run mean.
};

Outcome Replay(const Rule& rule, const Trace& samples, const std::vector<double>& long_run, int searches) {
  double best = *std::min_element(long_run.begin(), long_run.end());
  std::vector<double> means = samples.Means();
  std::map<std::size_t, int> times_chosen;
  double fastest_us = HUGE_VAL, slowest_us = 0;  // Of what was selected.
  Outcome outcome;
  for (int search = 0; search < searches; ++search) {
    Selection selection = rule.select(samples, static_cast<std::uint64_t>(search) + 1);
    ++times_chosen[selection.config];
    fastest_us = std::min(fastest_us, long_run[selection.config]);
    slowest_us = std::max(slowest_us, long_run[selection.config]);
    outcome.within_1pct += long_run[selection.config] <= best * 1.01 ? 1 : 0;
    outcome.gpu_ms += selection.gpu_us / 1000;
    const Measurement& m = selection.measurement;
    bool covered = std::abs(m.mean_us - means[selection.config]) <= m.error_margin_us.value_or(HUGE_VAL);
    outcome.coverage += covered ? 1 : 0;
  }
  outcome.within_1pct /= searches;
  outcome.gpu_ms /= searches;
  outcome.coverage /= searches;
  outcome.largest_difference = slowest_us / fastest_us - 1;
  for (const auto& [config, times] : times_chosen) {
    // Of pairs of different searches.
    outcome.agreement += searches < 2 ? 1 : static_cast<double>(times) / searches * (times - 1) / (searches - 1);
  }
  return outcome;
}

/// A/A: two entrants that are one config, each with rounds of its own. The share of races that call them different.
double DeclaredDifferent(const Trace& trace, int searches) {
  std::vector<double> means = trace.Means();
  auto best = static_cast<std::size_t>(std::min_element(means.begin(), means.end()) - means.begin());
  std::vector<double> column = trace.Column(best);
  int different = 0;
  for (int search = 0; search < searches; ++search) {
    std::mt19937_64 random(static_cast<std::uint64_t>(search) + 1);
    Race race(2);
    for (auto round = race.NextRound(); !round.empty(); round = race.NextRound()) {
      std::vector<double> samples;
      for (std::size_t i = 0; i < round.size(); ++i) samples.push_back(column[random() % column.size()]);
      race.Record(samples);
    }
    different += race.Ties(0) && race.Ties(1) ? 0 : 1;
  }
  return static_cast<double>(different) / searches;
}

int Run(const std::string& folder, int searches, bool json) {
  const std::vector<Rule> rules = {{"tuneonce", "cupti_cold.csv", SelectByRace},
                                   {"cutile", "graph_event_cold.csv", SelectAsCutile},
                                   {"triton", "event_cold.csv", SelectAsTriton}};
  std::string error;
  Trace truth = ReadTrace(folder + "/cupti_cold.csv", &error);
  nlohmann::ordered_json report = {{"trace", folder}, {"searches", searches}, {"rules", nlohmann::json::array()}};
  if (!json && error.empty())
    std::printf("%-10s %12s %10s %10s %9s %9s\n", "rule", "within 1 %", "GPU ms", "agreement", "differ by", "coverage");
  for (const Rule& rule : rules) {
    struct stat status {};
    bool has_file = stat((folder + "/" + rule.file).c_str(), &status) == 0;
    Trace samples = error.empty() && has_file ? ReadTrace(folder + "/" + rule.file, &error) : truth;
    if (error.empty() && samples.num_configs() != truth.num_configs()) {
      error = folder + "/" + rule.file + " has another number of columns than cupti_cold.csv";
    }
    if (!error.empty()) {
      std::fprintf(stderr, "replay_selection: %s\n", error.c_str());
      return 1;
    }
    Outcome outcome = Replay(rule, samples, truth.Means(), searches);
    report["rules"].push_back({{"rule", rule.name},
                               {"within_1pct", outcome.within_1pct},
                               {"gpu_ms", outcome.gpu_ms},
                               {"agreement", outcome.agreement},
                               {"largest_difference", outcome.largest_difference},
                               {"coverage", outcome.coverage}});
    if (!json) {
      std::printf("%-10s %12.4f %10.2f %10.4f %9.4f %9.4f\n", rule.name.c_str(), outcome.within_1pct, outcome.gpu_ms,
                  outcome.agreement, outcome.largest_difference, outcome.coverage);
    }
  }
  double different = DeclaredDifferent(truth, searches);
  report["a_a_declared_different"] = different;
  if (json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    std::printf("A/A declared different: %.4f\n", different);
  }
  return 0;
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("Replays recorded timings as searches: our stopping rule, cuTile's and Triton's side by side");
  std::string folder;
  int searches = 1000;
  bool json = false;
  app.add_option("--trace", folder, "Folder with cupti_cold.csv, graph_event_cold.csv and event_cold.csv")->required();
  app.add_option("--searches", searches, "Searches per rule (default 1000)")->check(CLI::PositiveNumber);
  app.add_flag("--json", json, "JSON instead of a table");
  CLI11_PARSE(app, argc, argv);
  return tuneonce::Run(folder, searches, json);
}
