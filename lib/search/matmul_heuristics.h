#ifndef TUNEONCE_LIB_SEARCH_MATMUL_HEURISTICS_H_
#define TUNEONCE_LIB_SEARCH_MATMUL_HEURISTICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A matrix product C[m, n] = A[m, k] * B[k, n] that is computed `batch` times.
struct MatmulProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool a_is_transposed = false;
  bool b_is_transposed = false;
  DType a = DType::kAny, b = DType::kAny, c = DType::kAny;
};

/// How a model would compute it: the tile of a block, and its schedule.
struct MatmulProposal {
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;
  std::int64_t num_stages = 1, num_warps = 1, split_k = 1, num_ctas = 1;
};

/// NVIDIA's nvMatmulHeuristics (PyPI: nvidia-matmul-heuristics; its version 0.1), a library that is loaded if it is
/// there: from TUNEONCE_MATMUL_HEURISTICS, else where Python's packages lie (PythonPackageFolders), else where the
/// loader looks. It needs no GPU and no context. Thread rule: any thread; one asks at a time.
class MatmulHeuristics {
 public:
  /// Errors: Unavailable, naming the places; Unimplemented for a version whose calls may differ.
  static Result<MatmulHeuristics> Load(const Environment& environment);

  /// At most `most`, the most promising first, as for Triton's kernels. Errors: Unimplemented for dtypes or a device
  /// that it does not know; Unavailable if it proposes nothing.
  Result<std::vector<MatmulProposal>> Propose(const MatmulProblem& problem, const DeviceIdentity& device,
                                              int most) const;
  const std::string& version() const { return version_; }  ///< "0.1.0"

 private:
  struct Calls;
  MatmulHeuristics(Calls* calls, std::string version) : calls_(calls), version_(std::move(version)) {}

  Calls* calls_;  ///< Never freed, like the library that it points into.
  std::string version_;
};

/// Its word for the dtypes: "HSH" for float16 that is added up in float32. Empty if it has none. From its header's list
/// of supported precisions.
std::string PrecisionOf(DType a, DType b, DType c);

/// Which of a problem's configs are tried.
struct ProposedConfigs {
  std::vector<Config> configs;  ///< In the space's order.
  /// A note for the result: why only some configs are tried, or why no model was used. May be empty.
  std::string note;
};

/// Returns those of `configs`, which fit the problem, that a search should try. It returns all of them unless the
/// kernel is a matmul (KernelDefinition::Matmul), more than `max_proposed` (> 0) fit, and nvMatmulHeuristics proposes
/// some for the problem on `device`. Then it returns those nearest to its proposals, at most `max_proposed`, and
/// `baseline` if given.
ProposedConfigs ProposeConfigs(const KernelDefinition& definition, const Problem& problem, const DeviceIdentity& device,
                               std::vector<Config> configs, const std::optional<Config>& baseline, int max_proposed,
                               const Environment& environment);

/// Returns the `most` of `configs` that are nearest to a proposal, in their order. The distance of two configs is the
/// sum of |log2| of the ratios of the tile's extents, plus an eighth of that for stages, warps, parts of K and blocks
/// per cluster, if the space has such axes (a hint of 0 is the compiler's own value and has no distance). Between equal
/// distances the earlier proposal counts. Axes that the model does not cover do not count.
std::vector<Config> NearestTo(const std::vector<MatmulProposal>& proposals, const MatmulParts& parts,
                              const std::vector<Config>& configs, std::size_t most);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_MATMUL_HEURISTICS_H_
