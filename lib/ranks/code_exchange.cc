#include "ranks/code_exchange.h"

#include <optional>
#include <string>

#include "ranks/group_call.h"
#include "shared/compile_cached.h"
#include "store/checksummed_artifact.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string NameOf(const Fingerprint& key) { return "code/" + key.ToString(); }

std::optional<Artifact> Here(RecordStore& cache, const Fingerprint& key) {
  if (key == Fingerprint()) return std::nullopt;  // It cannot be kept, nor sent.
  Result<std::optional<Artifact>> found =
      CallForeign("the record store", StatusCode::kUnavailable,
                  [&]() -> Result<std::optional<Artifact>> { return FindCurrent(cache, key); });
  return found.ok() ? *std::move(found) : std::nullopt;
}

}  // namespace

bool PublishCode(RankGroup& group, RecordStore& cache, const Fingerprint& key) {
  const std::optional<Artifact> artifact = Here(cache, key);
  if (!artifact) return false;
  const std::string bytes = EncodeChecksummedArtifact(key, *artifact);
  return bytes.size() <= kMostCodeBytes && PutInto(group, NameOf(key), bytes).ok();
}

bool FetchCode(RankGroup& group, RecordStore& cache, const Fingerprint& key) {
  if (Here(cache, key)) return true;
  if (key == Fingerprint()) return false;
  Result<std::optional<std::string>> bytes = GetFrom(group, NameOf(key), /*wait_ms=*/0);
  if (!bytes.ok() || !*bytes) return false;
  Result<Artifact> artifact = DecodeChecksummedArtifact(key, **bytes);
  if (!artifact.ok()) return false;
  return CallForeign("the record store", StatusCode::kUnavailable, [&] { return cache.PutArtifact(key, *artifact); })
      .ok();
}

}  // namespace v0
}  // namespace tuneonce
