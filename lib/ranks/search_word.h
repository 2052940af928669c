#ifndef TUNEONCE_LIB_RANKS_SEARCH_WORD_H_
#define TUNEONCE_LIB_RANKS_SEARCH_WORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// That a rank is about to search, and has work for others; or that it has none any more.
struct SearchOffer {
  bool is_last = false;    ///< Nothing follows, and nothing else of it counts.
  Fingerprint key;         ///< KeyVote::key.
  bool at_bound = false;   ///< It is searched at its bucket's bound, not at the shape at hand.
  Fingerprint candidates;  ///< Fingerprint of the list. A rank with another list takes no part.
};

/// What the rank that shares a search out, its leader, has all ranks do next.
struct SearchWord {
  enum Kind : std::uint32_t {
    kTry,     ///< Claim some of `places`, and try them.
    kFinals,  ///< Race all of `places`.
    /// About the finals of the word before: the result is conclusive, so the rank ends its race now and answers.
    kEnough,
    kOver,  ///< Nothing more.
  };
  Kind kind = kOver;
  std::vector<std::uint64_t> places;  ///< In the list of candidates, in the order in which they are claimed.
  int num_ranks = 1;                  ///< kFinals: that race them.
  std::vector<Fingerprint> code;      ///< Artifacts that they need and that are there (CodeExchange).
};

TUNEONCE_API std::string EncodeOffer(const SearchOffer& offer);
TUNEONCE_API std::string EncodeWord(const SearchWord& word);
/// Decodes an offer. Errors: Internal for an invalid message.
TUNEONCE_API Result<SearchOffer> DecodeOffer(const std::string& bytes);
TUNEONCE_API Result<SearchWord> DecodeWord(const std::string& bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_SEARCH_WORD_H_
