#ifndef TUNEONCE_COMPONENTS_REDIS_NONCE_H_
#define TUNEONCE_COMPONENTS_REDIS_NONCE_H_

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {

/// Returns a unique text by which a server identifies a holder. It is not secret.
inline std::string Nonce() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random()), "-", absl::Hex(random()), "-", absl::Hex(random()), "-",
                      absl::Hex(random()));
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_NONCE_H_
