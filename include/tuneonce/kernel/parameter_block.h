#ifndef TUNEONCE_KERNEL_PARAMETER_BLOCK_H_
#define TUNEONCE_KERNEL_PARAMETER_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/kernel/call_binder.h"

namespace tuneonce {

/// Most parameters of a kernel itself, once tensors are spread into pointers, extents and strides.
inline constexpr int kMaxKernelParameters = 128;
/// Most descriptor parameters of one kernel.
inline constexpr int kMaxDescriptors = 4;

/// The values of one launch's kernel parameters, and the pointers to them that cuLaunchKernelEx takes. Lives on the
/// stack of the launch; not initialized beyond what is filled.
class ParameterBlock {
 public:
  ParameterBlock() = default;
  ParameterBlock(const ParameterBlock&) = delete;  // `pointers_` point into the object.
  ParameterBlock& operator=(const ParameterBlock&) = delete;

  void** pointers() { return pointers_; }
  int count() const { return count_; }

  void Add(std::uint64_t word) {
    words_[count_] = word;
    pointers_[count_] = &words_[count_];
    ++count_;
  }
  /// Room for a descriptor; nullptr if there is none left.
  void* AddDescriptor() {
    if (num_descriptors_ == kMaxDescriptors) return nullptr;
    void* bytes = descriptors_[num_descriptors_++];
    pointers_[count_++] = bytes;
    return bytes;
  }

 private:
  int count_ = 0;
  int num_descriptors_ = 0;
  std::uint64_t words_[kMaxKernelParameters];
  void* pointers_[kMaxKernelParameters];
  alignas(64) unsigned char descriptors_[kMaxDescriptors][kMaxDescriptorBytes];
};

/// A definition's parameters, spread according to a calling convention.
/// REQUIRES: the definition outlives it. Thread rule: immutable; any thread.
class TUNEONCE_API ParameterLayout {
 public:
  /// Errors: InvalidArgument if there are more kernel parameters than fit.
  static Result<ParameterLayout> Create(const KernelDefinition& definition, CallingConvention convention);

  /// Checks number and sizes against what the loaded kernel says of itself (bytes of each parameter, in order). Hidden
  /// parameters behind the declared ones are allowed for Tile IR. Errors: InvalidArgument, naming the parameter.
  Status CheckAgainst(const std::vector<std::size_t>& kernel_sizes) const;

  /// Fills `block` for one launch. `workspaces`: one address per workspace parameter, in order.
  /// Errors: InvalidArgument for an extent that does not fit int32, or from a descriptor's function.
  Status Fill(const BoundCall& call, const Config& config, const std::uint64_t* workspaces,
              ParameterBlock* block) const;

  /// Bytes that each workspace parameter needs, in order; empty if there is none.
  std::vector<std::size_t> WorkspaceBytes(const Config& config, const Problem& problem) const;
  bool has_workspace() const { return num_workspaces_ > 0; }

 private:
  enum class Kind : std::uint8_t { kPointer, kExtent, kStride, kScalar, kDim, kDerived, kWorkspace, kDescriptor };
  struct Entry {
    Kind kind;
    std::uint8_t dimension;  // kExtent, kStride: which one.
    DType dtype;             // kScalar, kDim, kDerived.
    std::int16_t parameter;  // Index in the definition.
    std::int16_t dim;        // kDim: index of the dim.
    std::size_t bytes;       // Size of the kernel's parameter.
  };

  ParameterLayout(const KernelDefinition& definition, CallingConvention convention)
      : definition_(&definition), convention_(convention) {}
  Status DoesNotFit(const Entry& entry, std::int64_t value) const;

  const KernelDefinition* definition_;
  CallingConvention convention_;
  std::vector<Entry> entries_;
  int num_workspaces_ = 0;
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_PARAMETER_BLOCK_H_
