#ifndef TUNEONCE_TOOLS_INSPECT_CLASSIFIED_BUNDLE_H_
#define TUNEONCE_TOOLS_INSPECT_CLASSIFIED_BUNDLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspect/classification.h"
#include "tuneonce/bundle.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Which family a bundle's kernel is of, by the code of its variants, and where the space that it declares departs from
/// what that family's kernels want. In `report`: it asks all that is before it, and what it says is for people and
/// tools to look at; nothing is tuned by it.
struct ClassifiedBundle {
  struct Options {
    std::optional<Target> target;              ///< None: sm_90, or the first known GPU that has variants.
    std::map<std::string, std::int64_t> dims;  ///< In place of the example's, for the arithmetic intensity.
    /// PTX of a variant whose files are cubins, by its name, where who calls has it (an exporter does).
    std::map<std::string, std::vector<std::string>> ptx;
    /// Whose NVRTC lowers CUDA Tile C++: the first config of each such variant, in 0.2 to 1 s. Null: it is not read.
    std::shared_ptr<const Runtime> runtime;
  };
  /// What the code of one variant says, of all its configs on the target.
  struct OfVariant {
    std::string name;
    SourceKind kind = SourceKind::kTileIr;
    int num_sources = 0;       ///< That were read; 0: `no_evidence` says why.
    int num_of_no_family = 0;  ///< Of them.
    std::string no_evidence;
    std::vector<std::string> assumptions;  ///< What its code assumes: "the dim 'K' is a multiple of 16".
    Classification classification;  ///< The class of all sources that have a family; without a family if they differ.
    /// The largest tiles of any of its sources, and all that CodeWarnings asks for; the rest of it is one source's.
    KernelEvidence largest;
  };

  std::string kernel;
  Target target;
  std::vector<OfVariant> variants;  ///< Those that run on the target.
  Classification classification;    ///< Null if no variant says it, or two say otherwise.
  /// The space to start from: the family's name, or `occupancy_only` where no axis changes the code. Empty if unknown.
  std::string recommended;
  std::string why_recommended;
  std::string shape;                ///< For which the intensity is, "M=4096, N=4096"; empty: none was given.
  std::optional<double> intensity;  ///< Operations per byte, by the declared work.
  std::optional<Bound> bound;
  std::vector<std::string> departures;  ///< SpaceDepartures; each is a sentence that says what to do.
  std::vector<std::string> warnings;    ///< About the code (CodeWarnings), each a sentence with what to do.

  /// Errors: Unimplemented if no variant runs on the target; InvalidArgument for a dim that there is not; those of the
  /// definition's functions and of the space.
  static Result<ClassifiedBundle> Of(const Bundle& bundle, const Options& options);

  /// Lines for a terminal.
  std::string ToString() const;
  /// {"kernel", "target", "family" (null: unknown), "reasons": [text], "recommended_space", "intensity", "bound",
  /// "shape", "departures": [text], "warnings": [text], "variants": [{"name", "source", "family", "reasons", "sources",
  /// "sources_of_no_family", "no_evidence", "assumptions": [text]}]}.
  std::string Json() const;
};

/// Where the space of `definition` departs from what kernels like it want on the target: no baseline; axes that mean
/// nothing to Tile IR; Tile IR without occupancy; tiles that are smaller than all that the family tries; clusters for a
/// kernel that is bound by memory, and those that may not end; a tensor that is written in place and not declared so.
/// `classified`: all of it but the departures. `configs`: those of the target.
std::vector<std::string> SpaceDepartures(const KernelDefinition& definition, const std::vector<Config>& configs,
                                         const ClassifiedBundle& classified);

/// Whether some axis changes the code: a structural one, but `backend`, with more than one value.
bool HasStructuralSelection(const std::vector<Config>& configs);

/// What in the Tile IR of these variants makes a kernel slow, incorrect or hang, each a sentence that states why and
/// what to do. Where one variant knows a tensor's strides to be aligned, others are not warned of it: they are there
/// for other arguments. `variants`: those of the target.
std::vector<std::string> CodeWarnings(const KernelDefinition& definition,
                                      const std::vector<ClassifiedBundle::OfVariant>& variants, const Target& target);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_CLASSIFIED_BUNDLE_H_
