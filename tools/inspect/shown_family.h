#ifndef TUNEONCE_TOOLS_INSPECT_SHOWN_FAMILY_H_
#define TUNEONCE_TOOLS_INSPECT_SHOWN_FAMILY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

struct Family;  // A family as data; opaque to the tools' users.

/// A family's space as people and tools look at it: what it has on some targets, for a shape or for all.
struct ShownFamily {
  struct OnTarget {
    Target target;
    Status status;  ///< Why it has no configs there.
    std::vector<Config> configs;
    std::optional<Config> baseline;  ///< One of `configs`.
  };

  const Family* family = nullptr;
  std::string name;     ///< "dense_matmul".
  std::string summary;  ///< A few words for lists.
  SearchSpace space;
  std::vector<OnTarget> targets;

  /// `targets`: empty for all that are known. `extents` by the family's dims: guards of the others are not asked.
  /// Errors: InvalidArgument for an unknown family, a dim that it does not have, an extent below 1.
  /// `where` has texts of further conditions.
  static Result<ShownFamily> Of(const std::string& name, std::vector<Target> targets,
                                const std::map<std::string, std::int64_t>& extents,
                                const std::vector<std::string>& where = {});

  /// {"family", "summary", "dims", "hints": [axis], "where": [{"name", "condition"}], "targets": [{"target",
  /// "baseline": {axis: value}, "configs": [{axis: value}]}]}; a target without configs has "error" in their place. Not
  /// in builds without JSON.
  std::string Json() const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_SHOWN_FAMILY_H_
