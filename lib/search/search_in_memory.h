#ifndef TUNEONCE_LIB_SEARCH_SEARCH_IN_MEMORY_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_IN_MEMORY_H_

#include <memory>

#include "search/trial_memory.h"
#include "tuneonce/exhaustive_search.h"

namespace tuneonce {

/// exhaustive_search for a caller that holds memory of the same budget: a bucket's tensors.
Result<TuningResult> SearchInMemory(std::shared_ptr<const KernelDefinition> definition, StreamView stream,
                                    const BoundCall& call, const SearchOptions& options, TrialMemory memory);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_IN_MEMORY_H_
