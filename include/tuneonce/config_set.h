#ifndef TUNEONCE_CONFIG_SET_H_
#define TUNEONCE_CONFIG_SET_H_

#include <cstdint>
#include <memory>

#include "tuneonce/api.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {

/// The valid configs of a search space on a target, in the space's order. It is stored as factors: axes that no
/// condition connects are independent, so a space of 100 million configs may need a few kilobytes. A config is made
/// when it is asked for. SearchSpace::Configs makes the set.
///
/// It has value semantics, and copies share their contents. Thread rule: any thread.
class TUNEONCE_API ConfigSet {
 public:
  ConfigSet();  ///< Makes a set without configs.
  ConfigSet(const ConfigSet& other);
  ConfigSet(ConfigSet&& other) noexcept;
  ConfigSet& operator=(ConfigSet other) noexcept;
  ~ConfigSet();

  std::int64_t size() const;
  bool empty() const { return size() == 0; }
  /// Returns the config with this index, which takes about a microsecond. REQUIRES: 0 <= index < size().
  Config At(std::int64_t index) const;

  struct Contents;  ///< Opaque.

 private:
  friend class SearchSpace;
  friend class SpaceWalk;

  explicit ConfigSet(std::shared_ptr<const Contents> contents);

  std::shared_ptr<const Contents> contents_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CONFIG_SET_H_
