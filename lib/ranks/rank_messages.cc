#include "ranks/rank_messages.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Begins a claim. No list of decisions begins with it, because it would be their number.
constexpr std::uint64_t kClaimMark = ~std::uint64_t{0};

/// An error, by code and words.
void Add(const Status& why, Encoder* encoder) { encoder->Enum(why.code()).Text(why.message()); }
Status ReadStatus(Decoder& decoder) {
  const auto code = decoder.Enum(StatusCode::kUnavailable);
  std::string words = decoder.Text();
  return code == StatusCode::kOk ? InternalError(std::move(words)) : Status(code, std::move(words));
}

}  // namespace

std::string EncodeVote(const Vote& vote) {
  Encoder writer;
  writer.U32(kRanksVersion).U64(vote.nonce).Text(vote.kind).Count(vote.keys.size());
  for (const KeyVote& key : vote.keys) {
    writer.Add(key.key).Add(key.definition).U32(key.state);
    writer.Add(key.selection).Add(key.search).Add(key.variants).U64(key.cost);
  }
  return WithChecksum(writer.Take());
}

Result<Vote> DecodeVote(const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes));
  Decoder reader(body);
  if (const std::uint32_t version = reader.U32(); version != kRanksVersion) {
    return FailedPreconditionError(absl::StrCat("the rank uses version ", version, " of the rank protocol, not ",
                                                kRanksVersion, ": use the same tuneonce version on all ranks"));
  }
  Vote vote;
  vote.nonce = reader.U64();
  vote.kind = reader.Text();
  constexpr std::size_t kLeastBytes = 5 * sizeof(Fingerprint) + 4 + 8;
  for (std::size_t i = reader.Count(kLeastBytes); i > 0; --i) {
    KeyVote key;
    key.key = reader.ReadFingerprint();
    key.definition = reader.ReadFingerprint();
    key.state = reader.Enum(KeyVote::kServed);
    key.selection = reader.ReadFingerprint();
    key.search = reader.ReadFingerprint();
    key.variants = reader.ReadFingerprint();
    key.cost = reader.U64();
    vote.keys.push_back(key);
  }
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return vote;
}

std::string EncodeDecisions(const RankDecisions& decisions) {
  Encoder writer;
  writer.Count(decisions.size());
  for (const auto& [key, record] : decisions) {
    writer.Add(key).Bool(record.ok());
    if (record.ok()) {
      writer.Bytes(*record);
    } else {
      Add(record.status(), &writer);
    }
  }
  return WithChecksum(writer.Take());
}

Result<RankDecisions> DecodeDecisions(const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes));
  Decoder reader(body);
  RankDecisions decisions;
  for (std::size_t i = reader.Count(sizeof(Fingerprint) + 12); i > 0; --i) {
    const Fingerprint key = reader.ReadFingerprint();
    if (reader.Bool()) {
      decisions.emplace_back(key, std::string(reader.Bytes()));
    } else {
      decisions.emplace_back(key, ReadStatus(reader));
    }
  }
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return decisions;
}

std::string EncodeClaim(const Claim& claim) {
  return WithChecksum(Encoder().U64(kClaimMark).I64(claim.rank).Text(claim.why_lost).Take());
}

std::optional<Claim> DecodeClaim(const std::string& bytes) {
  const Result<std::string_view> body = WithoutChecksum(bytes);
  if (!body.ok()) return std::nullopt;
  Decoder reader(*body);
  const bool is_claim = reader.U64() == kClaimMark;
  const std::int64_t rank = reader.I64();
  Claim claim;
  claim.rank = static_cast<int>(rank);
  claim.why_lost = reader.Text();
  return is_claim && claim.rank == rank && reader.Done().ok() ? std::optional<Claim>(std::move(claim)) : std::nullopt;
}

std::string EncodeChecks(const RankChecks& checks) {
  Encoder writer;
  writer.Count(checks.size());
  for (const auto& [key, digest] : checks) {
    writer.Add(key).Bool(digest.ok());
    if (digest.ok()) {
      writer.Add(*digest);
    } else {
      Add(digest.status(), &writer);
    }
  }
  return WithChecksum(writer.Take());
}

Result<RankChecks> DecodeChecks(const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes));
  Decoder reader(body);
  RankChecks checks;
  for (std::size_t i = reader.Count(sizeof(Fingerprint) + 12); i > 0; --i) {
    const Fingerprint key = reader.ReadFingerprint();
    if (reader.Bool()) {
      checks.emplace_back(key, reader.ReadFingerprint());
    } else {
      checks.emplace_back(key, ReadStatus(reader));
    }
  }
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return checks;
}

}  // namespace v0
}  // namespace tuneonce
