#ifndef TUNEONCE_LIB_SEARCH_CONFIG_PLANNER_H_
#define TUNEONCE_LIB_SEARCH_CONFIG_PLANNER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "search/candidate.h"
#include "tuneonce/config.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that a search may try. Each is planned when the search tries it, so that planning costs no more time and
/// memory than what is tried. Thread rule: one thread.
class ConfigPlanner {
 public:
  /// Plans one of the configs. PlannedConfig::is_excluded configs are not candidates.
  using PlanFn = std::function<Result<PlannedConfig>(const Config& config)>;

  ConfigPlanner() = default;
  /// `configs`: in the space's order, each once. Errors of `plan` end the search.
  ConfigPlanner(std::shared_ptr<const std::vector<Config>> configs, PlanFn plan)
      : configs_(std::move(configs)), plan_(std::move(plan)) {}
  ConfigPlanner(std::vector<Config> configs, PlanFn plan)
      : ConfigPlanner(std::make_shared<const std::vector<Config>>(std::move(configs)), std::move(plan)) {}
  /// Takes configs that are planned already.
  explicit ConfigPlanner(std::vector<PlannedConfig> planned);

  const std::vector<Config>& configs() const { return *configs_; }
  /// Plans the config with this index, unless it is planned. Returns whether it is a candidate. Errors: those of
  /// PlanFn.
  Result<bool> Plan(std::size_t index);
  /// REQUIRES: Plan returned true for `index`.
  PlannedConfig& at(std::size_t index) { return planned_.at(index); }
  const PlannedConfig& at(std::size_t index) const { return planned_.at(index); }
  /// The candidates that are planned, by index.
  const std::map<std::size_t, PlannedConfig>& planned() const { return planned_; }
  /// Whether the config was planned and is excluded.
  bool IsExcluded(std::size_t index) const { return excluded_.count(index) > 0; }
  std::size_t num_excluded() const { return excluded_.size(); }
  /// Why the first excluded config is excluded. Empty if none is.
  const std::string& refusal() const { return refusal_; }

 private:
  std::shared_ptr<const std::vector<Config>> configs_ = std::make_shared<const std::vector<Config>>();
  PlanFn plan_;
  std::map<std::size_t, PlannedConfig> planned_;
  std::set<std::size_t> excluded_;
  std::string refusal_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CONFIG_PLANNER_H_
