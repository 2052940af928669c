#ifndef TUNEONCE_TOOLS_COMPARE_KERNEL_COMPARISON_H_
#define TUNEONCE_TOOLS_COMPARE_KERNEL_COMPARISON_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/speedup.h"
#include "tuneonce/arguments.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// One of two kernels that are compared, or one of two ways to run a kernel.
struct ComparedKernel {
  std::shared_ptr<const KernelDefinition> definition;  ///< Validated for launches.
  /// A back end: its configs and variants alone, and of the variants only those with the kind of source that it
  /// prefers here, so that nothing stands in for it. Or one variant's name. Empty: all.
  std::string backend = {};
  /// The config that it runs. Empty: the one that a search with these arguments selects.
  std::optional<Config> config = std::nullopt;
  /// The variant that builds `config`. Empty: the first variant that compiles.
  std::string variant = {};
};

/// How one of them ran.
struct ComparedRun {
  Config config;
  std::string variant;
  Measurement measurement;
  ResourceUse resources;
  /// Device memory that a launch needs: its tensors, and its workspaces.
  std::size_t memory_bytes = 0;
};

/// B compared with A, on the same arguments, in one race. Plain data.
struct KernelComparison {
  ComparedRun a;                   ///< Without a measurement if B failed.
  std::optional<ComparedRun> b;    ///< Empty if it failed.
  std::optional<Speedup> speedup;  ///< Empty if B failed.
  Verdict verdict = Verdict::kNoChange;
  bool is_conclusive = true;  ///< IsConclusive of the speedup; true if B failed.
  /// Both run the same code of one definition, so the verdict is kNoChange for any times.
  bool is_same_code = false;
  /// Why B failed where A ran: "wrong result: output 'y': ...". Empty: it ran, and was right.
  std::string failure;
  bool is_wrong = false;  ///< PairedOutcome::is_wrong.
  /// The largest difference of B's outputs from A's, by A's tolerance. Empty if they were not compared.
  std::optional<OutputDifference> largest_difference;
  int num_pairs = 0;
  std::string timer;  ///< "cupti", "events".
  bool is_isolated = false;
  std::vector<std::string> notes;  ///< One line each.
};

/// OK if a caller passes both the same arguments: kinds, access, dtypes and dims of tensors and scalars agree, in
/// order; names may differ, but for dims'. Errors: InvalidArgument, naming the first parameter that differs.
Status CheckSameSignature(const KernelDefinition& a, const KernelDefinition& b);

/// Compares B with A on these arguments. A kernel without a config is searched first, as by exhaustive_search (once if
/// A and B are the same). Then both run in interleaved pairs on the same copies of the arguments. B's outputs are
/// compared with A's before and after, within A's tolerance. Isolation, timer, cache and budgets are those of the
/// options, as for a search. If B alone fails, that is a result (KernelComparison::failure) and not an error.
///
/// REQUIRES and errors: as for exhaustive_search; those of CheckSameSignature; the error of either kernel that cannot
/// run here (guards, no variant for the target, no compiler) with the prefix "A: " or "B: "; any error of A.
Result<KernelComparison> CompareKernels(const ComparedKernel& a, const ComparedKernel& b, StreamView stream,
                                        const std::vector<Argument>& arguments, const SearchOptions& options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_COMPARE_KERNEL_COMPARISON_H_
