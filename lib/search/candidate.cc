#include "tuneonce/search/candidate.h"

#include "base/callback.h"
#include "tuneonce/kernel/parameter_block.h"

namespace tuneonce {
namespace {

/// Shared memory that any kernel may have without asking the driver for more.
constexpr std::int64_t kDefaultSharedMemoryBytes = 48 * 1024;

}  // namespace

Result<Candidate> MakeCandidate(std::shared_ptr<const KernelDefinition> definition, const Variant& variant,
                                const Config& config, const BoundCall& call) {
  std::string where = " of kernel '" + definition->name() + "' at config {" + config.ToString() + "}";
  Candidate candidate;
  candidate.config = config;
  candidate.call = call;
  candidate.convention = variant.convention;
  TUNEONCE_ASSIGN_OR_RETURN(
      candidate.source, CallUser("the source function" + where, [&] { return variant.source(config, call.problem); }));
  TUNEONCE_ASSIGN_OR_RETURN(candidate.hints, CallUser("the hints function" + where, [&] {
                              return variant.hints ? variant.hints(config) : Hints::OfConfig(config);
                            }));
  TUNEONCE_ASSIGN_OR_RETURN(candidate.geometry, CallUser("the geometry function" + where,
                                                         [&] { return variant.geometry(config, call.problem); }));
  candidate.definition = std::move(definition);
  return candidate;
}

Result<std::shared_ptr<const LoadedKernel>> LoadCandidate(const DriverApi& api, const Candidate& candidate) {
  TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(api, candidate.artifact.image));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle kernel, library.GetKernel(candidate.artifact.symbol));
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(*candidate.definition, candidate.convention));
  Result<std::vector<std::size_t>> sizes = kernel.ParameterSizes();
  if (sizes.ok()) {
    TUNEONCE_RETURN_IF_ERROR(layout.CheckAgainst(*sizes));
  } else if (sizes.status().code() != StatusCode::kUnimplemented) {
    return sizes.status();
  }
  if (candidate.geometry.shared_memory_bytes > kDefaultSharedMemoryBytes) {
    TUNEONCE_RETURN_IF_ERROR(
        kernel
            .SetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          static_cast<int>(candidate.geometry.shared_memory_bytes))
            .WithPrefix(std::to_string(candidate.geometry.shared_memory_bytes) + " bytes of shared memory"));
  }
  return std::shared_ptr<const LoadedKernel>(new LoadedKernel{std::move(library), kernel, candidate.artifact.symbol});
}

}  // namespace tuneonce
