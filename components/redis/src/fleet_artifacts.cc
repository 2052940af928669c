#include "fleet_artifacts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kArtifact[] = "artifact/";

// ARGV: milliseconds to keep; 0: as it is. Written only after half of the time.
constexpr char kGet[] = R"(
local found = redis.call('GET', KEYS[1])
if found and ARGV[1] ~= '0' and redis.call('PTTL', KEYS[1]) * 2 < tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return found
)";

// The bytes are written first, so that a name never refers to missing bytes if the server is killed in between.
constexpr char kPut[] = R"(
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
)";

std::string CodeKey(const std::string& sha256) {
  const std::string hex = absl::BytesToHexString(sha256);
  return "code/" + hex;
}

std::optional<Fingerprint> FingerprintOf(const std::string& hex) {
  Fingerprint key;
  const bool is_one = hex.size() == 32 && absl::SimpleHexAtoi(hex.substr(0, 16), &key.high) &&
                      absl::SimpleHexAtoi(hex.substr(16), &key.low);
  return is_one ? std::optional<Fingerprint>(key) : std::nullopt;
}

}  // namespace

Result<RedisReply> FleetArtifacts::GetAndKeep(const std::string& key, FleetServer::Clock::time_point deadline) {
  return server_.Run(kGet, {key}, {server_.options().read_only ? "0" : server_.KeepMs()}, deadline);
}

Result<std::optional<Artifact>> FleetArtifacts::Read(const Fingerprint& key) {
  const auto deadline = server_.Deadline();
  const std::string name = kArtifact + key.ToString();
  TUNEONCE_ASSIGN_OR_RETURN(RedisReply named, GetAndKeep(name, deadline));
  if (named.is_nil()) return std::optional<Artifact>();
  TUNEONCE_ASSIGN_OR_RETURN(std::string sha256, server_.Open(name, named.text));
  TUNEONCE_ASSIGN_OR_RETURN(RedisReply code, GetAndKeep(CodeKey(sha256), deadline));
  if (code.is_nil()) return std::optional<Artifact>();
  if (Sha256(code.text) != sha256) return InvalidArgumentError("its bytes differ from those that were signed");
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, DecodeArtifact(code.text));
  return std::optional<Artifact>(std::move(artifact));
}

Result<std::optional<Artifact>> FleetArtifacts::Get(const Fingerprint& key) {
  Result<std::optional<Artifact>> artifact = Read(key);
  if (artifact.status().code() != StatusCode::kInvalidArgument) return artifact;
  server_.Refused(store_,
                  absl::StrCat("an artifact in ", server_.place(), " is refused: ", artifact.status().message()));
  return std::optional<Artifact>();
}

Status FleetArtifacts::Put(const Fingerprint& key, const Artifact& artifact) {
  TUNEONCE_RETURN_IF_ERROR(server_.CheckWritable());
  const std::string bytes = EncodeArtifact(artifact);
  if (static_cast<std::int64_t>(bytes.size()) > server_.options().max_artifact_bytes) {
    return ResourceExhaustedError(
        absl::StrCat("the artifact has ", bytes.size(), " bytes, more than RedisStoreOptions::max_artifact_bytes"));
  }
  const std::string sha256 = Sha256(bytes), name = kArtifact + key.ToString();
  return server_
      .Run(kPut, {CodeKey(sha256), name}, {bytes, server_.Sign(name, sha256), server_.KeepMs()}, server_.Deadline())
      .status();
}

Result<std::vector<Fingerprint>> FleetArtifacts::Keys() const {
  const std::string prefix = server_.NameOf(kArtifact);
  std::vector<Fingerprint> keys;
  std::string cursor = "0";
  do {
    TUNEONCE_ASSIGN_OR_RETURN(
        RedisReply page, server_.Call({"SCAN", cursor, "MATCH", prefix + "*", "COUNT", "1000"}, server_.Deadline()));
    if (page.elements.size() != 2)
      return InternalError("the store " + server_.place() + " returned an unexpected reply");
    cursor = page.elements[0].text;
    for (const RedisReply& key : page.elements[1].elements) {
      if (auto fingerprint = FingerprintOf(key.text.substr(prefix.size()))) keys.push_back(*fingerprint);
    }
  } while (cursor != "0");
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());  // SCAN may give one twice.
  return keys;
}

}  // namespace v0
}  // namespace tuneonce
