#ifndef TUNEONCE_SEARCH_CANDIDATE_H_
#define TUNEONCE_SEARCH_CANDIDATE_H_

#include <memory>
#include <string>

#include "tuneonce/compile/artifact.h"
#include "tuneonce/cuda/library.h"
#include "tuneonce/kernel/call_binder.h"
#include "tuneonce/kernel/kernel_definition.h"

namespace tuneonce {

/// One config on its way through a search: what is compiled, and how it is launched.
struct Candidate {
  Config config;
  std::shared_ptr<const KernelDefinition> definition;
  BoundCall call;  ///< The caller's arguments; trials run on a SplitBuffers of it.
  CallingConvention convention = CallingConvention::kPlain;
  KernelSource source;
  Hints hints;
  Geometry geometry;
  Artifact artifact;  ///< Empty before compilation.
};

/// Plans one config: calls the variant's functions (source, hints, geometry). Errors: InvalidArgument, naming function
/// and config, if one throws. REQUIRES: what `call` points to outlives the candidate.
TUNEONCE_API Result<Candidate> MakeCandidate(std::shared_ptr<const KernelDefinition> definition, const Variant& variant,
                                             const Config& config, const BoundCall& call);

/// A candidate's code in a context, ready to launch. Shared by all that launch it; unloaded with the last of them.
struct LoadedKernel {
  Library library;
  KernelHandle kernel;
  std::string symbol;
};

/// Loads an artifact into the current context and prepares the kernel for `geometry` (dynamic shared memory), after
/// checking the kernel's parameters against the definition's. Errors: as Library::Load; InvalidArgument for parameters
/// that differ.
TUNEONCE_API Result<std::shared_ptr<const LoadedKernel>> LoadCandidate(const DriverApi& api,
                                                                       const Candidate& candidate);

}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_CANDIDATE_H_
