#ifndef TUNEONCE_LIB_SEARCH_SEARCH_COST_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_COST_H_

#include <cstddef>
#include <cstdint>

#include "launch/call_binder.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the estimated time of a search over `num_configs` configs in microseconds, without compiling: a fixed part,
/// and for each config a part for loading and verifying it and its launches. A launch is estimated by the roofline of
/// KernelDefinition::Work, or, if that is not given, by the size of the call's tensors. It balances searches over
/// devices of one kind, so only the ratios of its results matter.
std::uint64_t EstimatedSearchUs(const KernelDefinition& definition, const BoundCall& call, std::size_t num_configs,
                                const Device& device);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_COST_H_
