#ifndef TUNEONCE_LIB_DEFINITION_TERM_GUARD_H_
#define TUNEONCE_LIB_DEFINITION_TERM_GUARD_H_

#include <cstdint>

#include "tuneonce/config.h"
#include "tuneonce/grid.h"

namespace tuneonce {
inline namespace v0 {

/// A guard of a search space (SearchSpace::AddGuard) that compares two terms: for one config, what of them is the
/// config's need not be computed at each launch (SearchSpace::GuardsFor).
struct TermGuard {
  Term term, bound;
  bool (*holds)(std::int64_t value, std::int64_t bound);

  bool operator()(const Config& config, const Problem& problem) const {
    std::int64_t value = term.Value(config, problem), limit = bound.Value(config, problem);
    return value != Term::kNoValue && limit != Term::kNoValue && holds(value, limit);
  }
  bool ReadsScalar() const { return term.ReadsScalar() || bound.ReadsScalar(); }
  TermGuard For(const Config& config) const { return {term.For(config), bound.For(config), holds}; }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_TERM_GUARD_H_
