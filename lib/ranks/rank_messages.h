#ifndef TUNEONCE_LIB_RANKS_RANK_MESSAGES_H_
#define TUNEONCE_LIB_RANKS_RANK_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Version of the messages and of the protocol. The vote of a rank with another version is refused.
inline constexpr std::uint32_t kRanksVersion = 4;

/// What a rank contributes for a key.
struct KeyVote {
  /// What comes later goes before what comes earlier.
  enum State : std::uint32_t {
    kFallback,      ///< Runs its fallback whatever the others have: kFallbackOnly, or frozen.
    kMayNotSearch,  ///< Has no selection, and takes another rank's.
    kNothing,       ///< Has no selection, and may search for one.
    kStored,        ///< Brings a record.
    kServed,        ///< It runs the config already, or a person pinned it.
  };
  bool has_record() const { return state >= kStored; }

  Fingerprint key;         ///< Equal in all ranks, whatever their devices and definitions.
  Fingerprint definition;  ///< The kernel's.
  State state = kNothing;
  Fingerprint selection;   ///< Fingerprint of the config and how it is built. Zero without a record.
  Fingerprint search;      ///< Equal for keys that one search serves (AutotunePolicy::selection_group).
  Fingerprint variants;    ///< Which variants this rank can build.
  std::uint64_t cost = 0;  ///< Estimated cost of its search in microseconds.
};

struct Vote {
  std::uint64_t nonce = 0;  ///< Identifies this start of the rank.
  std::string kind;         ///< Device and driver as text.
  std::vector<KeyVote> keys;
};

/// States which rank finds the configs of some keys from now on.
struct Claim {
  int rank = -1;         ///< -1: no rank is left that could.
  std::string why_lost;  ///< Why the rank before it is lost: "sent nothing for 60000 ms". Empty: it had not started.
};

/// The decisions for some keys: for each key a record's bytes, or the reason why it has no record.
using RankDecisions = std::vector<std::pair<Fingerprint, Result<std::string>>>;
/// What a rank would run of each key: a digest, or why it runs nothing.
using RankChecks = std::vector<std::pair<Fingerprint, Result<Fingerprint>>>;

/// Messages as bytes, with a checksum at the end: what was cut or changed is an error.
std::string EncodeVote(const Vote& vote);
std::string EncodeDecisions(const RankDecisions& decisions);
std::string EncodeChecks(const RankChecks& checks);
/// A claim is in the place of decisions.
std::string EncodeClaim(const Claim& claim);
/// Returns a claim, or nothing for any other message.
std::optional<Claim> DecodeClaim(const std::string& bytes);
/// Decodes a vote. Errors: Internal for an invalid message; FailedPrecondition for a vote of another version.
Result<Vote> DecodeVote(const std::string& bytes);
Result<RankDecisions> DecodeDecisions(const std::string& bytes);
Result<RankChecks> DecodeChecks(const std::string& bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_RANK_MESSAGES_H_
