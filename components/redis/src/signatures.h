#ifndef TUNEONCE_COMPONENTS_REDIS_SIGNATURES_H_
#define TUNEONCE_COMPONENTS_REDIS_SIGNATURES_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/redis_store.h"

namespace tuneonce {
inline namespace v0 {

/// 32 bytes.
std::string Sha256(std::string_view bytes);

/// Signs bytes together with a name, and verifies them: HMAC-SHA256 of libcrypto over both. A value; thread-safe.
class Signatures {
 public:
  /// Errors: InvalidArgument, naming the key by its id.
  static Result<Signatures> Create(std::vector<SigningKey> keys);

  /// Signs with the first key.
  std::string Sign(std::string_view name, std::string_view body) const;
  /// Returns the body that any of the keys signed under this name. Errors: InvalidArgument with the reason.
  Result<std::string> Open(std::string_view name, std::string_view bytes) const;

 private:
  explicit Signatures(std::vector<SigningKey> keys) : keys_(std::move(keys)) {}

  std::vector<SigningKey> keys_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_SIGNATURES_H_
