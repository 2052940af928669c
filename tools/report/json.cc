#include <nlohmann/json.hpp>

#include "inspect/doctor.h"
#include "report/config_json.h"
#include "report/reading_fields.h"
#include "store/stored_enums.h"
#include "tuneonce/report.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Roofline& roofline) {
  Json json;
  json["intensity"] = roofline.intensity ? Json(*roofline.intensity) : Json(nullptr);
  json["bound"] = roofline.bound ? Json(std::string(BoundName(*roofline.bound))) : Json(nullptr);
  json["gb_per_s"] = roofline.gb_per_s > 0 ? Json(roofline.gb_per_s) : Json(nullptr);
  json["tflop_per_s"] = roofline.tflop_per_s > 0 ? Json(roofline.tflop_per_s) : Json(nullptr);
  json["percent_of_peak"] = roofline.percent_of_peak ? Json(*roofline.percent_of_peak) : Json(nullptr);
  return json;
}

Json ToJson(const CandidateOutcome& success) {
  const Measurement& m = success.measurement;
  Json json;
  json["config"] = ConfigJson(success.config);
  if (!success.variant.empty()) json["variant"] = success.variant;
  json["mean_us"] = m.mean_us;
  json["error_margin_us"] = m.error_margin_us ? Json(*m.error_margin_us) : Json(nullptr);
  json["num_samples"] = m.num_samples;
  json["latency"] = {{"mean", m.mean_us}, {"std", m.std_us}, {"rel_std", m.rel_std()}, {"median", m.median_us},
                     {"min", m.min_us},   {"max", m.max_us}, {"nrep", m.num_samples}};
  json["ties_with_fastest"] = success.ties_with_fastest;
  json["largest_difference"] = nullptr;
  if (const auto& largest = success.largest_difference) {
    json["largest_difference"] = {{"output", largest->output},
                                  {"absolute", largest->absolute},
                                  {"share_of_tolerance", largest->share_of_tolerance}};
  }
  if (success.roofline) json["roofline"] = ToJson(*success.roofline);
  if (success.resources.registers > 0) {
    json["resources"] = {{"registers", success.resources.registers},
                         {"shared_bytes", success.resources.shared_bytes},
                         {"local_bytes", success.resources.local_bytes}};
  }
  return json;
}

/// What is not known is left out.
Json ToJson(const std::optional<DeviceReading>& reading) {
  if (!reading) return nullptr;
  Json json = Json::object();
  ForEachKnown(*reading, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

}  // namespace

std::string ResultJson(const TuningRecord& result, const std::string& device, const std::string& shape) {
  Json json;
  json["kernel"] = result.key.kernel;
  if (!device.empty()) json["device"] = device;
  if (!shape.empty()) json["shape"] = ShapeJson(shape);
  json["baseline"] = result.baseline ? ToJson(*result.baseline) : Json(nullptr);
  json["best"] = ToJson(result.best);
  json["successes"] = Json::array();
  for (const CandidateOutcome& success : result.successes()) json["successes"].push_back(ToJson(success));
  json["failures"] = Json::array();
  for (const CandidateOutcome& failure : result.failures()) {
    json["failures"].push_back({{"config", ConfigJson(failure.config)},
                                {"kind", std::string(OutcomeName(failure.kind))},
                                {"message", failure.message}});
  }
  json["duplicates"] = Json::array();
  for (const CandidateOutcome& duplicate : result.duplicates()) {
    json["duplicates"].push_back(
        {{"config", ConfigJson(duplicate.config)}, {"same_as", ConfigJson(*duplicate.same_as)}});
  }
  json["not_measured"] = Json::array();
  for (const CandidateOutcome& each : result.not_measured()) json["not_measured"].push_back(ConfigJson(each.config));
  json["substitutions"] = Json::array();
  for (const CandidateOutcome& candidate : result.candidates) {
    if (candidate.variant.empty()) continue;
    for (const PassedOver& passed_over : candidate.passed_over) {
      json["substitutions"].push_back({{"config", ConfigJson(candidate.config)},
                                       {"variant", candidate.variant},
                                       {"instead_of", passed_over.variant},
                                       {"reason", passed_over.reason}});
    }
  }
  json["speedup_over_baseline"] = result.speedup_over_baseline ? Json(*result.speedup_over_baseline) : Json(nullptr);
  json["reason"] = std::string(FindStored(result.reason)->word);
  json["is_conclusive"] = result.is_conclusive;
  json["is_isolated"] = result.is_isolated;
  json["timer"] = result.timer;
  json["drift"] = result.drift;
  json["device_before"] = ToJson(result.device_before);
  json["device_after"] = ToJson(result.device_after);
  json["notes"] = result.notes;
  json["cost"] = {{"compile_s", result.cost.compile_seconds},
                  {"compile_wall_s", result.cost.compile_wall_seconds},
                  {"num_compiled", result.cost.num_compiled},
                  {"gpu_s", result.cost.gpu_seconds},
                  {"wall_s", result.cost.wall_seconds},
                  {"num_launches", result.cost.num_launches},
                  {"num_rounds", result.cost.num_rounds},
                  {"peak_bytes", result.cost.peak_bytes},
                  {"workers_replaced", result.cost.workers_replaced}};
  // A tool's message may hold bytes that are no UTF-8.
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string DoctorJson(const DoctorReport& report) {
  Json json;
  json["ok"] = report.can_tune();
  json["findings"] = Json::array();
  for (const DoctorFinding& finding : report.findings) {
    json["findings"].push_back({{"name", finding.name},
                                {"found", finding.found},
                                {"detail", finding.detail},
                                {"advice", finding.advice.empty() ? Json(nullptr) : Json(finding.advice)}});
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace v0
}  // namespace tuneonce
