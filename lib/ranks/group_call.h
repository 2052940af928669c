#ifndef TUNEONCE_LIB_RANKS_GROUP_CALL_H_
#define TUNEONCE_LIB_RANKS_GROUP_CALL_H_

#include <optional>
#include <string>

#include "base/callback.h"
#include "tuneonce/plugin/rank_group.h"

namespace tuneonce {
inline namespace v0 {

// Calls a host's group. An exception from it becomes an error.

inline Status PutInto(RankGroup& group, const std::string& name, const std::string& bytes) {
  return CallForeign("the rank group", StatusCode::kUnavailable, [&] { return group.Put(name, bytes); });
}
inline Result<std::optional<std::string>> GetFrom(RankGroup& group, const std::string& name, int wait_ms) {
  return CallForeign("the rank group", StatusCode::kUnavailable, [&] { return group.Get(name, wait_ms); });
}
inline Result<std::string> PutOnceInto(RankGroup& group, const std::string& name, const std::string& bytes,
                                       int wait_ms) {
  return CallForeign("the rank group", StatusCode::kUnavailable, [&] { return group.PutOnce(name, bytes, wait_ms); });
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_GROUP_CALL_H_
