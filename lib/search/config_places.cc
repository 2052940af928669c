#include "search/config_places.h"

namespace tuneonce {
inline namespace v0 {

ConfigPlaces::ConfigPlaces(const std::vector<Config>& configs, const std::vector<const Config*>& wanted)
    : configs_(configs) {
  for (const Config* config : wanted) by_values_.emplace(config->values(), configs.size());
  if (by_values_.empty()) return;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const auto found = by_values_.find(configs[i].values());
    if (found != by_values_.end()) found->second = i;
  }
}

std::optional<std::size_t> ConfigPlaces::Find(const Config& config) const {
  const auto found = by_values_.find(config.values());
  const bool is_there =
      found != by_values_.end() && found->second < configs_.size() && configs_[found->second].IsSame(config);
  return is_there ? std::optional<std::size_t>(found->second) : std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
