#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/printable.h"
#include "tune_job.h"

namespace tuneonce::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Three times the default of a race (SearchOptions::max_rounds), because a race may start again.
constexpr std::size_t kMostSamples = 1000;
/// An isolated search of 30 configs and 300 rounds has about 1000.
constexpr std::size_t kMostSpans = 2000;

/// Microseconds as milliseconds, to the microsecond.
double Milliseconds(double us) { return std::round(us) / 1000; }

}  // namespace

void AddTimeline(const TuningRecord& record, const std::string& trace, Json* json) {
  const Json parsed = Json::parse(trace, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("traceEvents")) return;
  std::map<std::string, std::size_t> candidate_of;  // By the name of its samples.
  for (std::size_t i = 0; i < record.candidates.size(); ++i) {
    const CandidateOutcome& candidate = record.candidates[i];
    if (candidate.kind == OutcomeKind::kMeasured) {
      candidate_of.emplace("{" + Printable(candidate.config.ToString()) + "}", i);
    }
  }
  std::map<std::size_t, Json> samples_of;
  std::map<std::int64_t, std::size_t> track_of;
  Json tracks = Json::array(), spans = Json::array(), device = Json::array();
  std::size_t left_out = parsed["otherData"].value("dropped_events", std::size_t{0});
  auto track = [&](std::int64_t thread) {
    auto [found, is_new] = track_of.emplace(thread, tracks.size());
    if (is_new) tracks.push_back("thread " + std::to_string(thread));
    return found->second;
  };
  for (const Json& event : parsed["traceEvents"]) {
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name") tracks[track(event["tid"])] = event["args"]["name"];
      continue;
    }
    if (event["cat"] == "device") {
      Json reading = {{"at_ms", Milliseconds(event["ts"])}};
      reading.update(event["args"]);
      if (device.size() < kMostSamples) device.push_back(std::move(reading));
      continue;
    }
    if (event["cat"] != "sample") {
      if (spans.size() >= kMostSpans) {
        ++left_out;
        continue;
      }
      spans.push_back({{"name", event["name"]},
                       {"category", event["cat"]},
                       {"track", track(event["tid"])},
                       {"begin_ms", Milliseconds(event["ts"])},
                       {"duration_ms", Milliseconds(event["dur"])}});
      continue;
    }
    auto candidate = candidate_of.find(event["name"].get<std::string>());
    if (candidate == candidate_of.end()) continue;  // It failed later.
    Json& samples = samples_of[candidate->second];
    if (samples.is_null()) {
      samples = {{"candidate", candidate->second}, {"at_ms", Json::array()}, {"us", Json::array()}};
    }
    if (samples["us"].size() >= kMostSamples) {
      ++left_out;
      continue;
    }
    samples["at_ms"].push_back(Milliseconds(event["ts"]));
    samples["us"].push_back(std::round(1000 * event["args"]["us"].get<double>()) / 1000);  // To the nanosecond.
  }
  (*json)["timeline"] = {{"tracks", std::move(tracks)}, {"spans", std::move(spans)}, {"left_out", left_out}};
  Json& samples = (*json)["timeline"]["samples"] = Json::array();
  for (auto& [index, each] : samples_of) samples.push_back(std::move(each));
  if (!device.empty()) (*json)["timeline"]["device"] = std::move(device);
}

}  // namespace tuneonce::cli
