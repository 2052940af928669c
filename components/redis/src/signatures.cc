#include "signatures.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// The signed form: kMark, the length of the key's id in one byte, the id, the signature, the body.
constexpr std::string_view kMark = "TOS1";
constexpr std::size_t kSignatureBytes = 32;
constexpr std::size_t kLeastSecretBytes = 32;  // The size of SHA-256's output (RFC 2104).
constexpr std::size_t kLongestId = 64;

bool IsId(std::string_view id) {
  return !id.empty() && id.size() <= kLongestId && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

std::string SignatureOf(const SigningKey& key, std::string_view name, std::string_view body) {
  // The length before the name, so that no other name and body have the same bytes.
  std::string all = absl::StrCat(kMark.size(), ":", name.size(), ":");
  all.append(name).append(body);
  std::string signature(kSignatureBytes, '\0');
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.secret.data(), static_cast<int>(key.secret.size()),
       reinterpret_cast<const unsigned char*>(all.data()), all.size(), reinterpret_cast<unsigned char*>(&signature[0]),
       &size);
  return signature;
}

}  // namespace

std::string Sha256(std::string_view bytes) {
  std::string digest(kSignatureBytes, '\0');
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(&digest[0]), &size, EVP_sha256(), nullptr);
  return digest;
}

Result<Signatures> Signatures::Create(std::vector<SigningKey> keys) {
  if (keys.empty()) {
    return InvalidArgumentError(
        "a fleet's store needs a signing key (RedisStoreOptions::keys; TUNEONCE_FLEET_KEYS names a file of them): "
        "unsigned code is never run");
  }
  std::set<std::string> ids;
  for (const SigningKey& key : keys) {
    if (!IsId(key.id)) {
      return InvalidArgumentError(
          absl::StrCat("the id of a signing key must have 1 to ", kLongestId, " letters, digits, '.', '_' and '-'"));
    }
    if (!ids.insert(key.id).second) return InvalidArgumentError("two signing keys have the id '" + key.id + "'");
    if (key.secret.size() >= kLeastSecretBytes) continue;
    return InvalidArgumentError(absl::StrCat("the signing key '", key.id, "' has ", key.secret.size(), " bytes: use ",
                                             kLeastSecretBytes, " or more random bytes (openssl rand -hex 32)"));
  }
  return Signatures(std::move(keys));
}

std::string Signatures::Sign(std::string_view name, std::string_view body) const {
  const SigningKey& key = keys_.front();
  std::string bytes(kMark);
  bytes.push_back(static_cast<char>(key.id.size()));
  bytes.append(key.id).append(SignatureOf(key, name, body)).append(body);
  return bytes;
}

Result<std::string> Signatures::Open(std::string_view name, std::string_view bytes) const {
  const std::size_t id_at = kMark.size() + 1;
  if (bytes.size() < id_at || bytes.substr(0, kMark.size()) != kMark)
    return InvalidArgumentError("the entry is not signed");
  const std::size_t id_size = static_cast<unsigned char>(bytes[kMark.size()]);
  if (bytes.size() < id_at + id_size + kSignatureBytes) return InvalidArgumentError("the entry is truncated");
  const std::string_view id = bytes.substr(id_at, id_size);
  if (!IsId(id)) return InvalidArgumentError("the entry is not signed");
  auto key = std::find_if(keys_.begin(), keys_.end(), [&](const SigningKey& each) { return each.id == id; });
  if (key == keys_.end()) {
    return InvalidArgumentError("the entry was signed by the key '" + std::string(id) + "', which is not trusted here");
  }
  const std::string_view signature = bytes.substr(id_at + id_size, kSignatureBytes);
  const std::string_view body = bytes.substr(id_at + id_size + kSignatureBytes);
  if (CRYPTO_memcmp(SignatureOf(*key, name, body).data(), signature.data(), kSignatureBytes) != 0) {
    return InvalidArgumentError("the signature is wrong: the entry was changed, or signed for another place");
  }
  return std::string(body);
}

}  // namespace v0
}  // namespace tuneonce
