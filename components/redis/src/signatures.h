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

/// Signs bytes under a name, and opens what was signed: HMAC-SHA256 of libcrypto, over both. A value; thread-safe.
class Signatures {
 public:
  /// Errors: InvalidArgument, naming the key by its id.
  static Result<Signatures> Create(std::vector<SigningKey> keys);

  /// By the first key.
  std::string Sign(std::string_view name, std::string_view body) const;
  /// What was signed under that name by any of the keys. Errors: InvalidArgument, in words.
  Result<std::string> Open(std::string_view name, std::string_view bytes) const;

 private:
  explicit Signatures(std::vector<SigningKey> keys) : keys_(std::move(keys)) {}

  std::vector<SigningKey> keys_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_SIGNATURES_H_
