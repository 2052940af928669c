#ifndef TUNEONCE_LIB_SEARCH_CONFIG_PLACES_H_
#define TUNEONCE_LIB_SEARCH_CONFIG_PLACES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {

/// Finds the indices of some configs in a list that may be long, in one pass over the list. Thread rule: any thread.
class ConfigPlaces {
 public:
  /// `configs`: each once; it outlives the object. `wanted`: what Find is asked for.
  ConfigPlaces(const std::vector<Config>& configs, const std::vector<const Config*>& wanted);

  /// Returns the index of the config that is the same (Config::IsSame). Empty if the list has no such config.
  std::optional<std::size_t> Find(const Config& config) const;

 private:
  const std::vector<Config>& configs_;
  std::map<std::vector<AxisValue>, std::size_t, AxisValueOrder> by_values_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CONFIG_PLACES_H_
