#include "compare_results.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "report/config_json.h"

namespace tuneonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
/// Deeper than any result is.
constexpr int kMostDepth = 32;

/// The best config in a result file.
struct TuneResult {
  std::string kernel;
  std::string device;
  std::string shape;  ///< "M=64, N=32"
  std::string timer;
  ComparedSide best;
};

Status IsNone(const std::string& path, const std::string& why) {
  return InvalidArgumentError(path + " is not a result of tuneonce tune --json: " + why);
}

/// Returns the string at `name`, or nothing.
std::string TextAt(const Json& json, const char* name) {
  auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<ComparedSide> BestOf(const std::string& path, const Json& json) {
  auto best = json.find("best");
  if (best == json.end() || !best->is_object()) return IsNone(path, "the result has no 'best'");
  auto mean = best->find("mean_us"), config = best->find("config");
  if (mean == best->end() || !mean->is_number() || !(mean->get<double>() > 0) || config == best->end() ||
      !config->is_object()) {
    return IsNone(path, "the result's 'best' has no config and time");
  }
  auto margin = best->find("error_margin_us");
  if (margin == best->end() || !margin->is_number() || !(margin->get<double>() >= 0)) {
    return InvalidArgumentError(
        path +
        " has a time without an interval, since it comes from a store or from one sample: compare bundles instead");
  }
  ComparedSide side;
  for (const auto& [axis, value] : config->items()) {
    if (!value.is_structured()) side.config[axis] = value;
  }
  side.variant = TextAt(*best, "variant");
  side.measurement.emplace();
  side.measurement->mean_us = mean->get<double>();
  side.measurement->error_margin_us = margin->get<double>();
  auto samples = best->find("num_samples");
  if (samples != best->end() && samples->is_number_integer()) side.measurement->num_samples = samples->get<int>();
  return side;
}

Result<TuneResult> ReadResult(const std::string& path) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMostBytes));
  bool is_too_deep = false;
  auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kMostDepth;
    return depth <= kMostDepth;
  };
  const Json json = Json::parse(content, keep, /*allow_exceptions=*/false);
  if (is_too_deep) return IsNone(path, absl::StrCat("the JSON is nested deeper than ", kMostDepth));
  if (!json.is_object()) return IsNone(path, "the file is not a JSON object");
  if (json.contains("keys")) {
    return InvalidArgumentError(path +
                                " is the result of many shapes, which has no intervals: compare two stores instead");
  }
  TuneResult result;
  result.kernel = TextAt(json, "kernel");
  result.device = TextAt(json, "device");
  result.timer = TextAt(json, "timer");
  auto shape = json.find("shape");
  if (shape != json.end() && shape->is_object()) result.shape = SettingsText(*shape);
  TUNEONCE_ASSIGN_OR_RETURN(result.best, BestOf(path, json));
  return result;
}

}  // namespace

Result<CompareReport> CompareResults(const std::string& a, const std::string& b) {
  TUNEONCE_ASSIGN_OR_RETURN(TuneResult of_a, ReadResult(a));
  TUNEONCE_ASSIGN_OR_RETURN(TuneResult of_b, ReadResult(b));
  if (of_a.device != of_b.device) {
    return InvalidArgumentError("A was measured on " + of_a.device + ", and B on " + of_b.device);
  }
  if (of_a.shape != of_b.shape) {
    return InvalidArgumentError("A has the shape " + of_a.shape + ", and B has " + of_b.shape);
  }
  ComparedShape shape;
  shape.kernel = of_b.kernel;
  shape.shape = of_b.shape;
  shape.speedup = SpeedupOf(*of_a.best.measurement, *of_b.best.measurement);
  shape.verdict = VerdictOf(*shape.speedup);
  shape.is_conclusive = IsConclusive(*shape.speedup);
  shape.timer = of_b.timer;
  shape.a = std::move(of_a.best);
  shape.b = std::move(of_b.best);
  shape.notes.emplace_back(
      "nothing was run: the verdict uses the times in the two results, which may differ by more than their intervals; "
      "outputs were not compared");
  if (of_a.kernel != of_b.kernel) shape.notes.push_back("A is '" + of_a.kernel + "', and B is '" + of_b.kernel + "'");
  if (of_a.timer != of_b.timer) shape.notes.push_back("A was timed by " + of_a.timer + ", and B by " + of_b.timer);
  CompareReport report{a, b, of_b.device, {}};
  report.shapes.push_back(std::move(shape));
  return report;
}

}  // namespace tuneonce::cli
