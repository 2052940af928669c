#ifndef TUNEONCE_BENCHMARKS_TRACE_PHASES_H_
#define TUNEONCE_BENCHMARKS_TRACE_PHASES_H_

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

// Where the time of a rank's warm-up goes.
namespace tuneonce {

/// The span that all of a rank's spans are within.
inline constexpr char kWholeSpan[] = "the whole warm-up";

/// Returns the milliseconds of a rank's own thread by phase (the category of a span, or the name of a wait), without
/// what is within another phase.
inline std::map<std::string, double> PhasesOf(const std::string& trace) {
  struct Open {
    std::string phase;
    double end_us;
  };
  std::vector<nlohmann::json> events;
  nlohmann::json thread;
  nlohmann::json parsed = nlohmann::json::parse(trace);
  for (nlohmann::json& event : parsed["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["name"] == kWholeSpan) thread = event["tid"];
    events.push_back(std::move(event));
  }
  std::stable_sort(events.begin(), events.end(), [](const nlohmann::json& a, const nlohmann::json& b) {
    if (a["ts"] != b["ts"]) return a["ts"] < b["ts"];
    return a["dur"] > b["dur"];
  });
  std::map<std::string, double> phases;
  std::vector<Open> open;
  for (const nlohmann::json& event : events) {
    if (event["tid"] != thread) continue;
    const double begin_us = event["ts"], duration_us = event["dur"];
    while (!open.empty() && open.back().end_us <= begin_us) open.pop_back();
    if (!open.empty()) phases[open.back().phase] -= duration_us / 1000;
    const std::string category = event["cat"];
    const std::string name = event["name"];
    const bool is_wait_for = category == "wait" && name.rfind("wait for", 0) == 0;
    open.push_back({is_wait_for ? name : category, begin_us + duration_us});
    phases[open.back().phase] += duration_us / 1000;
  }
  return phases;
}

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_TRACE_PHASES_H_
