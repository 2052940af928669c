#ifndef TUNEONCE_LIB_BASE_SHORT_LIST_H_
#define TUNEONCE_LIB_BASE_SHORT_LIST_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the names that a message offers, at most five of them: "a, b, c, d, e, and 12 more", or "none". If there are
/// more than five, those most similar to `wanted` come first, in case the caller misspelled one of them. Thread-safe.
std::string ShortList(std::vector<std::string> names, std::string_view wanted = {});

/// Lists what `name_of` (a member, or a function that returns text) returns for each item.
template <typename Items, typename NameOf>
std::string ShortListOf(const Items& items, const NameOf& name_of, std::string_view wanted = {}) {
  std::vector<std::string> names;
  for (const auto& item : items) names.emplace_back(std::invoke(name_of, item));
  return ShortList(std::move(names), wanted);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_SHORT_LIST_H_
