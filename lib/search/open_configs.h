#ifndef TUNEONCE_LIB_SEARCH_OPEN_CONFIGS_H_
#define TUNEONCE_LIB_SEARCH_OPEN_CONFIGS_H_

#include <cstddef>
#include <vector>

#include "search/random_numbers.h"
#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that a proposal may still take, and those that it took. Thread rule: one thread.
class OpenConfigs {
 public:
  /// Takes the history's baseline first, unless it was tried.
  OpenConfigs(std::size_t num_configs, const SearchHistory& history);

  bool is_open(std::size_t config) const { return is_open_[config]; }
  std::size_t num_open() const { return num_open_; }
  /// Adds a config to the proposal. Returns false, and does nothing, if it is not open or the proposal is complete.
  bool Take(std::size_t config);
  /// Returns whether the proposal has as many configs as was asked for, or no config is open.
  bool is_complete() const { return taken_.size() >= batch_size_ || num_open_ == 0; }
  /// Returns an open config, each with about the same probability. REQUIRES: a config is open.
  std::size_t Draw(RandomNumbers* random) const;
  /// The configs of the proposal so far.
  const std::vector<std::size_t>& taken() const { return taken_; }

 private:
  std::vector<bool> is_open_;
  std::size_t num_open_;
  std::size_t batch_size_;
  std::vector<std::size_t> taken_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_OPEN_CONFIGS_H_
