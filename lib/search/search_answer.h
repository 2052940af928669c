#ifndef TUNEONCE_LIB_SEARCH_SEARCH_ANSWER_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "search/search_plan.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

/// What became of one candidate in a part of a search.
struct TriedCandidate {
  enum Kind : std::uint32_t { kMeasured, kFailed, kDuplicate, kNotMeasured };
  std::uint64_t place = 0;  ///< In SearchPlan::planned.
  Kind kind = kNotMeasured;
  Success success;            ///< kMeasured. Its config and geometry are not sent.
  Failure failure;            ///< kFailed. Its config is not sent.
  std::uint64_t same_as = 0;  ///< kDuplicate: the place of the one that was measured.
};

/// What a rank says of its part of a search that is shared out.
struct SearchAnswer {
  Status status;  ///< Not OK: the part came to nothing, and the rest is empty.
  std::vector<TriedCandidate> tried;
  bool is_conclusive = true;
  TuningCost cost;  ///< But for wall times.
};

SearchAnswer AnswerOf(const SearchPlan& plan, const Result<TuningResult>& part);

TUNEONCE_API std::string EncodeAnswer(const SearchAnswer& answer);
/// `num_candidates`: of the plan. Errors: Internal for what is damaged, or speaks of other candidates.
TUNEONCE_API Result<SearchAnswer> DecodeAnswer(const std::string& bytes, std::size_t num_candidates);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_ANSWER_H_
