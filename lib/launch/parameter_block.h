#ifndef TUNEONCE_LIB_LAUNCH_PARAMETER_BLOCK_H_
#define TUNEONCE_LIB_LAUNCH_PARAMETER_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/call_binder.h"
#include "launch/tensor_map_cache.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Most parameters of a kernel itself, once tensors are spread into pointers, extents and strides.
inline constexpr int kMaxKernelParameters = 128;
/// Most descriptor parameters of one kernel.
inline constexpr int kMaxDescriptors = 4;

/// The pointers to one launch's kernel parameters for cuLaunchKernelEx. Most of them point into the caller's own
/// arguments, which are little-endian like the device. Values that are computed for the launch are stored here. It lies
/// on the launch's stack, and only the parts that are used are initialized.
class ParameterBlock {
 public:
  ParameterBlock() = default;
  ParameterBlock(const ParameterBlock&) = delete;  // `pointers_` point into the object.
  ParameterBlock& operator=(const ParameterBlock&) = delete;

  void** pointers() { return pointers_; }

  /// Sets the pointer of the kernel's parameter `at`. REQUIRES: the value outlives the launch call.
  void SetPointer(std::size_t at, const void* value) { pointers_[at] = const_cast<void*>(value); }
  void SetWord(std::size_t at, std::uint64_t word) {
    words_[at] = word;
    SetPointer(at, &words_[at]);
  }
  /// Room for one more descriptor. REQUIRES: there were less than kMaxDescriptors.
  void* SetDescriptor(std::size_t at) {
    void* bytes = descriptors_[num_descriptors_++];
    SetPointer(at, bytes);
    return bytes;
  }

 private:
  int num_descriptors_ = 0;
  std::uint64_t words_[kMaxKernelParameters];
  void* pointers_[kMaxKernelParameters];
  alignas(64) unsigned char descriptors_[kMaxDescriptors][kMaxDescriptorBytes];
};

/// A definition's parameters in the form of a calling convention. REQUIRES: the definition outlives it. Thread rule:
/// immutable; any thread.
class ParameterLayout {
 public:
  /// `names`: Variant::parameters. Errors: InvalidArgument if there are more kernel parameters than fit, or a name is
  /// no parameter's.
  static Result<ParameterLayout> Create(const KernelDefinition& definition, CallingConvention convention,
                                        const std::vector<std::string>& names = {});

  /// Compares number and sizes with those that the kernel has (bytes of each parameter, in order; 0: unknown). With
  /// `may_hide` the kernel may have more parameters after the declared ones, as cubins by tileiras do. Errors:
  /// InvalidArgument, naming the parameter.
  Status CheckAgainst(const std::vector<std::size_t>& kernel_sizes, bool may_hide = false) const;

  /// Compares the names of the kernel's own parameters, in order ("": unknown). A kernel may use any names, but a
  /// parameter that has a declared name, ignoring case, must be passed at that place. Errors: InvalidArgument with both
  /// lists.
  Status CheckNames(const std::vector<std::string>& kernel_names) const;

  /// Fills `block` for one launch. `workspaces` has one address per workspace parameter, in order. `maps` is for
  /// kernels that take tensor maps, and may be null for others. Errors: InvalidArgument for an extent or a derived
  /// value that does not fit; those of a descriptor's function. REQUIRES: `call`, what it points to, and `workspaces`
  /// do not change until the launch was made.
  Status Fill(const BoundCall& call, const Config& config, const std::uint64_t* workspaces, ParameterBlock* block,
              const TensorMaps* maps = nullptr) const;

  /// Fills the pointers to values in the caller's arguments, one per kernel parameter. They are all pointers of a
  /// launch if the layout is not computed, and a hit's stack frame is smaller without a ParameterBlock. REQUIRES: the
  /// values in `narrowed` fit.
  [[gnu::always_inline]] void FillPointers(const BoundCall& call, void** pointers) const {
    for (SpreadTensor spread : spread_tensors_) {
      const TensorView& tensor = call.tensor(spread.parameter);
      void** to = pointers + spread.to;
      *to++ = const_cast<void**>(&tensor.data);
      for (std::size_t d = 0; d < spread.rank; ++d) {
        to[d] = const_cast<std::int64_t*>(&tensor.shape[d]);
        to[d + spread.rank] = const_cast<std::int64_t*>(&tensor.strides[d]);
      }
    }
    for (Single plain : plain_arguments_) pointers[plain.to] = const_cast<void*>(call.problem.values[plain.parameter]);
    for (DimArgument dim : dim_arguments_) {
      pointers[dim.to] = const_cast<std::int64_t*>(&call.problem.dims[Dim{dim.index}]);
    }
    if (has_rare_) FillRare(call, pointers);
  }

  /// An extent or a stride of a tensor, an int64, that the kernel takes as an int32.
  struct Narrowed {
    std::uint8_t parameter;
    std::uint8_t dimension;
    bool is_stride;

    std::int64_t ValueIn(const BoundCall& call) const {
      const TensorView& tensor = call.tensor(parameter);
      return is_stride ? tensor.strides[dimension] : tensor.shape[dimension];
    }
    /// Whether the kernel reads the right number, or one that it multiplies by index 0 alone: along one element a
    /// stride may be any.
    bool FitsIn(const BoundCall& call) const {
      return Fits(ValueIn(call)) || (is_stride && call.tensor(parameter).shape[dimension] == 1);
    }
    static bool Fits(std::int64_t value) { return value == static_cast<std::int32_t>(value); }
  };
  /// Returns each dim's extent once: the one of the first tensor that has the dim.
  const std::vector<Narrowed>& narrowed() const { return narrowed_; }

  /// A tensor with dims that is passed as its pointer alone. Bit d of `strides_taken`: the kernel takes the stride of
  /// dimension d.
  struct Bare {
    std::uint8_t parameter;
    std::uint8_t strides_taken;
  };
  static_assert(kMaxRank <= 8, "one bit per dimension");
  const std::vector<Bare>& bare_tensors() const { return bare_tensors_; }
  /// A stride that is passed by itself.
  struct StrideArgument {
    std::uint8_t to;  // The kernel's parameter.
    std::uint8_t parameter;
    std::uint8_t dimension;
  };
  const std::vector<StrideArgument>& stride_arguments() const { return stride_arguments_; }

  /// The value of the kernel's parameter `at`. REQUIRES: it is a declared parameter and not hidden by the convention.
  struct Meaning {
    enum class Of { kAddress, kExtent, kStride, kScalar, kOther };
    Of of;
    std::size_t parameter;      ///< The definition's: of kStride the tensor.
    std::size_t dimension = 0;  ///< For kStride, and for kExtent of a tensor that is passed as several parameters.
    std::string dim;            ///< For kExtent.
  };
  Meaning MeaningOf(std::size_t at) const;
  /// Describes the kernel's parameter `at`: "x", "stride 1 of x".
  std::string Describe(std::size_t at) const;
  /// "x, extent 0 of x, ...".
  std::string DescribeAll() const;
  /// Returns the rank of a tensor whose pointer is the kernel's parameter `at` and is followed by its extents and
  /// strides, or nothing for other parameters.
  std::optional<std::size_t> RankOfSpreadTensor(std::size_t at) const;
  /// Returns the bytes that each workspace parameter needs, in order. Errors: InvalidArgument for a term without a
  /// value, or a negative one.
  Result<std::vector<std::size_t>> WorkspaceBytes(const Config& config, const Problem& problem) const;
  /// The value of a derived parameter. Errors: InvalidArgument for one that does not fit.
  Result<std::uint64_t> DerivedWord(const Parameter& parameter, const Config& config, const Problem& problem) const;
  /// OK if each derived parameter has a value. Errors: those of DerivedWord.
  Status CheckDerived(const Config& config, const Problem& problem) const;
  /// Returns the number of parameters of the kernel itself, including those that the convention hides.
  std::size_t num_parameters() const { return sizes_.size() + static_cast<std::size_t>(num_hidden_); }
  /// Returns the number of parameters of the kernel without the hidden ones.
  std::size_t num_declared() const { return sizes_.size(); }
  bool has_workspace() const { return num_workspaces_ > 0; }
  /// Returns the indices of the definition's parameters that are tensor maps which the kernel takes, in its order.
  const std::vector<std::uint8_t>& map_parameters() const { return map_parameters_; }
  /// True if a launch needs more than its arguments: workspaces, or functions of the definition.
  bool is_computed() const { return !computed_.empty(); }

 private:
  /// One of the kernel's parameters.
  struct Size {
    std::uint8_t parameter;  // Index in the definition.
    std::uint8_t bytes;
  };
  static_assert(kMaxDescriptorBytes <= 255 && kMaxKernelParameters <= 255, "8 bits are enough");
  // Where their values come from. `to` is the index of the kernel's parameter.
  /// A tensor that is passed as its pointer, extents and strides, from `to` on.
  struct SpreadTensor {
    std::uint8_t to;
    std::uint8_t parameter;
    std::uint8_t rank;
  };
  /// Any other parameter of the definition, which is one of the kernel's.
  struct Single {
    std::uint8_t to;
    std::uint8_t parameter;
  };
  struct DimArgument {
    std::uint8_t to;
    std::uint8_t index;
  };
  static constexpr std::uint64_t kNullPointer = 0;

  ParameterLayout(const KernelDefinition& definition, CallingConvention convention)
      : definition_(&definition), convention_(convention) {}
  void Add(std::size_t index);
  Status FillDescriptor(const Parameter& parameter, std::size_t nth_map, const BoundCall& call, const Config& config,
                        const TensorMaps* maps, void* bytes) const;
  /// Fills what few kernels take: separate strides, and hidden null pointers.
  void FillRare(const BoundCall& call, void** pointers) const {
    for (StrideArgument stride : stride_arguments_) {
      pointers[stride.to] = const_cast<std::int64_t*>(&call.tensor(stride.parameter).strides[stride.dimension]);
    }
    for (std::size_t i = sizes_.size(); i < num_parameters(); ++i) {
      pointers[i] = const_cast<std::uint64_t*>(&kNullPointer);
    }
  }
  void AddTensor(std::size_t index);
  void AddStride(std::size_t index);
  void AddNarrowedDim(Dim dim);
  Status CheckCount(std::size_t count, bool may_hide) const;
  /// Returns the declared parameter whose name equals `name` ignoring case, and prefers an exact match.
  std::optional<std::size_t> FindDeclared(const std::string& name) const;

  const KernelDefinition* definition_;
  CallingConvention convention_;
  std::vector<Size> sizes_;
  std::vector<SpreadTensor> spread_tensors_;
  std::vector<Single> plain_arguments_;  // Scalars, and tensors that are passed as their pointers alone.
  std::vector<DimArgument> dim_arguments_;
  std::vector<StrideArgument> stride_arguments_;
  std::vector<Single> computed_;  // Derived values, workspaces, descriptors: what no argument is.
  std::vector<std::uint8_t> map_parameters_;
  std::vector<std::uint8_t> tensor_maps_;  // The tensor of each of these.
  std::vector<Narrowed> narrowed_;
  std::vector<Bare> bare_tensors_;
  int num_hidden_ = 0;  // Null pointers behind the declared parameters.
  bool has_rare_ = false;
  int num_workspaces_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_PARAMETER_BLOCK_H_
