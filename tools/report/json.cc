#include <nlohmann/json.hpp>

#include "inspect/doctor.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

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
