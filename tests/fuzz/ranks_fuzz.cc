// Messages that another rank may send, of any content: votes, decisions, checks, marks of lost ranks, beats and code.
// The first byte selects the kind. Its highest bit leaves the checksum as it comes; otherwise the body gets a valid
// one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/encoding.h"
#include "ranks/rank_messages.h"
#include "ranks/rank_watch.h"
#include "store/checksummed_artifact.h"

namespace {

using tuneonce::Result;

constexpr unsigned char kAsItComes = 0x80;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// What could be read is written again as bytes that are read as the same.
template <typename Message, typename Decode, typename Encode>
Result<Message> Read(const std::string& bytes, const Decode& decode, const Encode& encode) {
  Result<Message> message = decode(bytes);
  if (!message.ok()) {
    Require(!message.status().message().empty(), "an error without words");
    return message;
  }
  const std::string again = encode(*message);
  Result<Message> twice = decode(again);
  Require(twice.ok() && encode(*twice) == again, "a message is not what was written of it");
  return message;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = (data[0] & kAsItComes) != 0 ? body : tuneonce::WithChecksum(body);
  switch ((data[0] & ~kAsItComes) % 6) {
    case 0:
      (void)Read<tuneonce::Vote>(bytes, tuneonce::DecodeVote, tuneonce::EncodeVote);
      break;
    case 1:
      (void)Read<tuneonce::RankDecisions>(bytes, tuneonce::DecodeDecisions, tuneonce::EncodeDecisions);
      break;
    case 2:
      (void)Read<tuneonce::RankChecks>(bytes, tuneonce::DecodeChecks, tuneonce::EncodeChecks);
      break;
    case 3: {
      const std::optional<tuneonce::Claim> claim = tuneonce::DecodeClaim(bytes);
      Require(!claim || tuneonce::EncodeClaim(*claim) == bytes, "a claim is not what was written of it");
      break;
    }
    case 4:
      (void)tuneonce::Beat::Decode(body);
      break;
    case 5:
      (void)tuneonce::DecodeChecksummedArtifact(tuneonce::Fingerprint{1, 2}, bytes);
      break;
  }
  return 0;
}
