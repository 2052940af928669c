#ifndef TUNEONCE_LIB_RANKS_CODE_EXCHANGE_H_
#define TUNEONCE_LIB_RANKS_CODE_EXCHANGE_H_

#include <cstddef>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

// Compiled code that goes from rank to rank by the name of its content (Toolchain::ArtifactKey: source, hints, target
// and tool), so that each is compiled once per group. What does not come through is compiled where it is needed, so
// none of this can fail. Whoever can write into the group's engine can run code in all its ranks (docs/production.md).

/// Maximum size of one artifact. Each rank compiles a larger one itself. Transports keep what was put as long as the
/// group, and MPI's adapter keeps it in each rank's memory. Cubins have some 10 to 200 KB.
inline constexpr std::size_t kMostCodeBytes = std::size_t{4} << 20;

/// Gives what the cache has under `key` to the other ranks. False if it has nothing, or the engine takes none.
bool PublishCode(RankGroup& group, RecordStore& cache, const Fingerprint& key);
/// Fetches it into the cache, unless it is there. False if it is in neither.
bool FetchCode(RankGroup& group, RecordStore& cache, const Fingerprint& key);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_CODE_EXCHANGE_H_
