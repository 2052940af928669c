#ifndef TUNEONCE_KERNEL_PARAMETER_BLOCK_H_
#define TUNEONCE_KERNEL_PARAMETER_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/kernel/call_binder.h"

namespace tuneonce {

/// Most parameters of a kernel itself, once tensors are spread into pointers, extents and strides.
inline constexpr int kMaxKernelParameters = 128;
/// Most descriptor parameters of one kernel.
inline constexpr int kMaxDescriptors = 4;

/// The pointers to one launch's kernel parameters that cuLaunchKernelEx takes. Most point into the caller's own
/// arguments, which are little-endian, as the device is; what is computed for the launch is kept here. Lives on the
/// stack of the launch; not initialized beyond what is filled.
class ParameterBlock {
 public:
  ParameterBlock() = default;
  ParameterBlock(const ParameterBlock&) = delete;  // `pointers_` point into the object.
  ParameterBlock& operator=(const ParameterBlock&) = delete;

  void** pointers() { return pointers_; }
  int count() const { return count_; }

  /// REQUIRES: the value outlives the launch call.
  void AddPointer(const void* value) { pointers_[count_++] = const_cast<void*>(value); }
  void AddWord(std::uint64_t word) {
    words_[count_] = word;
    AddPointer(&words_[count_]);
  }
  /// Room for a descriptor; nullptr if there is none left.
  void* AddDescriptor() {
    if (num_descriptors_ == kMaxDescriptors) return nullptr;
    void* bytes = descriptors_[num_descriptors_++];
    AddPointer(bytes);
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
  /// `names`: Variant::parameters. Errors: InvalidArgument if there are more kernel parameters than fit, or a name is
  /// no parameter's.
  static Result<ParameterLayout> Create(const KernelDefinition& definition, CallingConvention convention,
                                        const std::vector<std::string>& names = {});

  /// Checks number and sizes against what the loaded kernel says of itself (bytes of each parameter, in order). Hidden
  /// parameters behind the declared ones are allowed for Tile IR. Errors: InvalidArgument, naming the parameter.
  Status CheckAgainst(const std::vector<std::size_t>& kernel_sizes) const;

  /// Fills `block` for one launch. `workspaces`: one address per workspace parameter, in order.
  /// Errors: InvalidArgument for an extent that does not fit int32, or from a descriptor's function.
  /// REQUIRES: `call`, what it points to, and `workspaces` stay as they are until the launch was made.
  Status Fill(const BoundCall& call, const Config& config, const std::uint64_t* workspaces,
              ParameterBlock* block) const;

  /// The same for a layout that is not computed, whose values are all in the caller's arguments: only pointers to them,
  /// one per kernel parameter. A stack frame of a hit is smaller for it. False if an extent does not fit: Fill says
  /// which.
  bool FillPointers(const BoundCall& call, void** pointers) const {
    for (const Entry& entry : entries_) *pointers++ = const_cast<void*>(PointerTo(entry, call));
    for (int i = 0; i < num_hidden_; ++i) *pointers++ = const_cast<std::uint64_t*>(&kNullPointer);
    std::uint64_t lost = 0;
    for (const Entry& entry : narrowed_) lost |= LostBits(entry, call);
    return lost == 0;
  }

  /// Bytes that each workspace parameter needs, in order; empty if there is none.
  std::vector<std::size_t> WorkspaceBytes(const Config& config, const Problem& problem) const;
  /// Of the kernel itself, with those that the convention hides.
  std::size_t num_parameters() const { return entries_.size() + static_cast<std::size_t>(num_hidden_); }
  bool has_workspace() const { return num_workspaces_ > 0; }
  /// True if a launch needs more than its arguments: workspaces, or functions of the definition.
  bool is_computed() const { return is_computed_; }

 private:
  enum class Kind : std::uint8_t { kArgument, kDim, kDerived, kWorkspace, kDescriptor };
  struct Entry {
    Kind kind;
    std::uint8_t parameter;  // Index in the definition.
    std::uint8_t offset;     // Of the value in bytes, in the call's value (a TensorView or scalar) or, kDim, its dims.
    std::uint8_t bytes;      // Size of the kernel's parameter.
  };
  static_assert(kMaxDescriptorBytes <= 255 && sizeof(TensorView) <= 255, "bytes and offset have 8 bits");

  /// Where the caller keeps the value of a parameter that is not computed.
  static const void* PointerTo(const Entry& entry, const BoundCall& call) {
    const void* base = entry.kind == Kind::kDim ? &call.problem.dims[Dim{0}] : call.values[entry.parameter];
    return static_cast<const char*>(base) + entry.offset;
  }
  /// Not 0 if the extent, stride or dim does not fit an int32.
  static std::uint64_t LostBits(const Entry& entry, const BoundCall& call) {
    std::int64_t value = *static_cast<const std::int64_t*>(PointerTo(entry, call));
    return static_cast<std::uint64_t>(value ^ static_cast<std::int32_t>(value));
  }
  static constexpr std::uint64_t kNullPointer = 0;

  ParameterLayout(const KernelDefinition& definition, CallingConvention convention)
      : definition_(&definition), convention_(convention) {}
  void Add(std::size_t index);

  const KernelDefinition* definition_;
  CallingConvention convention_;
  std::vector<Entry> entries_;
  std::vector<Entry> narrowed_;  // Those that are int64 in the call and int32 in the kernel.
  int num_hidden_ = 0;           // Null pointers behind the declared parameters.
  int num_workspaces_ = 0;
  bool is_computed_ = false;
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_PARAMETER_BLOCK_H_
