#ifndef TUNEONCE_TESTS_RANKS_RANK_GROUP_CONFORMANCE_H_
#define TUNEONCE_TESTS_RANKS_RANK_GROUP_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tuneonce/plugin/rank_group.h"

namespace tuneonce {

/// What a case of the suite gets: this rank's group of the job's next start.
using NextAttempt = std::function<std::shared_ptr<RankGroup>()>;

/// One of what every RankGroup must do. All ranks run `body`, each in a thread or a process of its own; they check by
/// EXPECT. An engine that a rank's end takes along (MPI) leaves out what `needs_dead_ranks`.
struct RankGroupCase {
  std::string name;
  std::function<void(const NextAttempt& next)> body;
  bool needs_dead_ranks = false;
};
inline void PrintTo(const RankGroupCase& each, std::ostream* out) { *out << each.name; }  // For gtest.

/// For two to sixteen ranks.
std::vector<RankGroupCase> RankGroupCases();

/// Runs a case with a thread per rank; `make_attempt` gives the groups of all ranks for each start of the job.
void RunByThreads(const RankGroupCase& each, int size,
                  const std::function<std::vector<std::shared_ptr<RankGroup>>(int attempt)>& make_attempt);

}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_RANKS_RANK_GROUP_CONFORMANCE_H_
