#ifndef TUNEONCE_LIB_SEARCH_TRIAL_DESCRIPTION_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_DESCRIPTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/candidate.h"
#include "tuneonce/parameters.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A candidate as plain data, for a process without the host's functions. What the definition computes from config and
/// problem was computed in the host (derived values, workspace sizes, boxes of tensor maps). Values with addresses are
/// computed where the memory is: tensors have their worker's addresses, and the worker encodes tensor maps.
struct TrialDescription {
  struct Map {
    std::vector<std::int64_t> box;
    std::vector<std::int64_t> element_strides;
    TensorMap::Swizzle swizzle = TensorMap::Swizzle::kNone;
    TensorMap::Interleave interleave = TensorMap::Interleave::kNone;
    TensorMap::L2Promotion l2_promotion = TensorMap::L2Promotion::kNone;
    TensorMap::OutOfBounds out_of_bounds = TensorMap::OutOfBounds::kZero;
  };
  struct Tensor {
    std::uint64_t address = 0;
    DType dtype = DType::kAny;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  ///< As many as extents.
    std::uint64_t bytes = 0;

    static Tensor Of(const TensorView& view);
    TensorView View() const;
  };
  struct Parameter {
    ParameterKind kind = ParameterKind::kTensor;
    std::string name;
    DType dtype = DType::kAny;
    Access access = Access::kIn;
    std::vector<std::string> dims;
    std::string dim;
    std::string tensor;
    std::int64_t dimension = 0;
    std::uint64_t word = 0;  ///< kScalar, kDerived: the value's bytes; kWorkspace: its size.
    std::optional<Map> map;
    bool may_be_partial = false;
    std::optional<std::array<double, 3>> tolerance;  ///< For an output: absolute, relative, ulps.
    std::optional<Tensor> argument;                  ///< kTensor.
  };

  std::string kernel;
  std::string config;  ///< Config::Canonical, for messages.
  std::string variant;
  bool has_variant = false;
  CallingConvention convention = CallingConvention::kPlain;
  SourceKind source_kind = SourceKind::kCpuCpp;
  std::vector<std::int64_t> geometry;  ///< Grid, block, cluster, dynamic shared memory.
  bool programmatic_launch = false;
  std::string image;
  std::string symbol;
  bool is_unordered = false;
  std::vector<std::string> taken;  ///< Variant::parameters.
  std::vector<std::string> dims;
  std::vector<std::int64_t> dim_values;  ///< As many as names.
  std::vector<Parameter> parameters;

  /// With the host's addresses. Calls functions of the definition. Errors: theirs, as InProcessRunner has them.
  static Result<TrialDescription> Of(const Candidate& candidate);
};

/// The fields that a parameter and its description share, and those of a tensor map. Each side can be made from the
/// other, so that no field is copied in one direction only.
template <typename From, typename To>
void CopyDeclaration(const From& from, To* to) {
  to->kind = from.kind;
  to->name = from.name;
  to->dtype = from.dtype;
  to->access = from.access;
  to->dims = from.dims;
  to->dim = from.dim;
  to->tensor = from.tensor;
  to->dimension = static_cast<decltype(to->dimension)>(from.dimension);
  to->may_be_partial = from.may_be_partial;
}
template <typename From, typename To>
void CopyModes(const From& from, To* to) {
  to->swizzle = from.swizzle;
  to->interleave = from.interleave;
  to->l2_promotion = from.l2_promotion;
  to->out_of_bounds = from.out_of_bounds;
}

/// Returns why trials of a candidate cannot run in another process, or an empty text: a launcher or function of the
/// host's that uses addresses, or memory of unknown size. Calls functions of the definition, whose failures are not a
/// reason.
std::string WhyNotIsolated(const Candidate& candidate);

/// A candidate made from a description, ready to run, with everything that it points to. Not copyable, because it
/// points into itself.
class DescribedTrial {
 public:
  /// Errors: InvalidArgument for an invalid description.
  static Result<std::unique_ptr<DescribedTrial>> Create(TrialDescription description, const Target& target);
  DescribedTrial(const DescribedTrial&) = delete;
  DescribedTrial& operator=(const DescribedTrial&) = delete;

  const Candidate& candidate() const { return candidate_; }

 private:
  DescribedTrial() = default;
  Status BindArguments(const TrialDescription& description, const Target& target);

  std::vector<TensorView> tensors_;   // The tensors that the call points to. Neither list grows after Create.
  std::vector<std::uint64_t> words_;  // Scalars.
  Target target_;                     // candidate_ points to it.
  Candidate candidate_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_DESCRIPTION_H_
