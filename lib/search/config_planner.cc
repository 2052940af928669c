#include "search/config_planner.h"

#include <utility>

namespace tuneonce {
inline namespace v0 {

ConfigPlanner::ConfigPlanner(std::vector<PlannedConfig> planned) {
  std::vector<Config> configs;
  for (PlannedConfig& each : planned) {
    configs.push_back(each.config);
    planned_.emplace(planned_.size(), std::move(each));
  }
  configs_ = std::make_shared<const std::vector<Config>>(std::move(configs));
}

Result<bool> ConfigPlanner::Plan(std::size_t index) {
  if (planned_.count(index) > 0) return true;
  if (excluded_.count(index) > 0) return false;
  TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, plan_(configs()[index]));
  if (!planned.is_excluded) {
    planned_.emplace(index, std::move(planned));
    return true;
  }
  excluded_.insert(index);
  if (refusal_.empty() && !planned.passed_over.empty()) refusal_ = planned.passed_over.front().reason;
  return false;
}

}  // namespace v0
}  // namespace tuneonce
