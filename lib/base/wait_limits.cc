#include "tuneonce/plugin/wait_limits.h"

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {

bool StopToken::stop_requested() const {
  if (flag_ != nullptr && flag_->load()) return true;
  if (!function_) return false;
  CallbackScope scope;
  try {
    return function_();
  } catch (...) {
    return true;
  }
}

}  // namespace v0
}  // namespace tuneonce
