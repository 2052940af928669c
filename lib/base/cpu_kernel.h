#ifndef TUNEONCE_LIB_BASE_CPU_KERNEL_H_
#define TUNEONCE_LIB_BASE_CPU_KERNEL_H_

/// How a kernel for the CPU device is written. The library puts this text before every kernel, so a kernel needs no
/// include of its own; include it for an editor's sake, as tuneonce/cpu_device/kernel.h of an installation. It includes
/// nothing: a candidate compiles in a fraction of a second.
///
///   static void axpy(const tuneonce_block& block, float a, const float* x, float* y, int n) {
///     int begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
///     for (int i = begin; i < end; ++i) y[i] += a * x[i];
///   }
///   TUNEONCE_CPU_KERNEL(axpy);
///
/// The function runs once per block of the grid, blocks in any order and at the same time on several cores. There are
/// no threads inside a block: it loops over its work itself. It must not throw, lock, or keep a resource: a fault in it
/// ends it on the spot.

// A kernel's float16. gcc before 13 has no _Float16 in C++ for aarch64, but the type of the same format.
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
typedef __fp16 _Float16;
#endif

/// A kernel's bfloat16: a float's upper half, as compilers have no such type before gcc 13. It computes as float does.
struct tuneonce_bfloat16 {
  unsigned short bits;

  tuneonce_bfloat16() = default;
  /// To the nearest, of two the even one.
  tuneonce_bfloat16(float value) {
    unsigned word;
    __builtin_memcpy(&word, &value, sizeof(word));
    const bool is_nan = value != value;
    bits = static_cast<unsigned short>(is_nan ? word >> 16 | 0x40u : (word + 0x7fffu + (word >> 16 & 1u)) >> 16);
  }
  operator float() const {
    const unsigned word = static_cast<unsigned>(bits) << 16;
    float value;
    __builtin_memcpy(&value, &word, sizeof(value));
    return value;
  }
};

extern "C" {

/// The position of one block: the extents of the grid and of the block, the index of this block, and its shared memory
/// (the static bytes, then the dynamic ones), which is aligned to 128 bytes and not cleared.
struct tuneonce_block {
  unsigned grid_x, grid_y, grid_z;
  unsigned x, y, z;
  unsigned threads_x, threads_y, threads_z;
  unsigned shared_bytes;
  void* shared;
};

/// A tensor as a kernel gets it that takes a tensor map (a CUtensorMap on a GPU): what cuTensorMapEncodeTiled was
/// given, innermost dimension first. The kernel copies boxes itself:
///
///   static void scale(const tuneonce_block& block, tuneonce_tensor_map x_map, float* y) {
///     const char* x = static_cast<const char*>(x_map.address);
///     unsigned rows = x_map.box[1];
///     ... row r of the tensor begins at x + r * x_map.stride_bytes[0]; rows beyond x_map.extent[1] read as 0 ...
///   }
struct tuneonce_tensor_map {
  void* address;
  unsigned long long extent[5];       /* In elements. */
  unsigned long long stride_bytes[4]; /* Of dimension 1 on; the innermost is dense. */
  unsigned short box[5];              /* In elements. */
  unsigned char element_stride[5];
  unsigned char rank;
  unsigned char dtype; /* A CUtensorMapDataType, and so on. */
  unsigned char interleave;
  unsigned char swizzle;
  unsigned char l2_promotion;
  unsigned char oob_fill;
  unsigned char reserved[27];
};

/// Place of one parameter in the kernel's parameter area, in bytes.
struct tuneonce_parameter {
  unsigned offset;
  unsigned size;
};

/// A module's description of one kernel, in the symbol "tuneonce_kernel_<name>".
struct tuneonce_kernel {
  unsigned abi_version;
  unsigned num_parameters;
  const struct tuneonce_parameter* parameters;
  void (*invoke)(const struct tuneonce_block* block, void* const* parameters);
  unsigned static_shared_bytes;
  unsigned max_threads_per_block;
};

}  // extern "C"

namespace tuneonce_cpu {

constexpr unsigned kKernelAbiVersion = 1;

template <typename... Parameters>
struct ParameterTable {
  tuneonce_parameter entries[sizeof...(Parameters) + 1];

  constexpr ParameterTable() : entries{} {
    unsigned offset = 0;
    unsigned i = 0;
    ((offset = (offset + alignof(Parameters) - 1) / alignof(Parameters) * alignof(Parameters),
      entries[i].offset = offset, entries[i].size = sizeof(Parameters), offset += sizeof(Parameters), ++i),
     ...);
  }
};

/// A parameter of a launch, whose bytes lie at any address.
template <typename Type>
Type Read(const void* bytes) {
  union Holder {
    Type value;
    Holder() {}
    ~Holder() {}
  } holder;
  __builtin_memcpy(static_cast<void*>(&holder.value), bytes, sizeof(Type));
  return holder.value;
}

template <auto kFunction, typename Type>
struct Kernel;

template <auto kFunction, typename... Parameters>
struct Kernel<kFunction, void (*)(const tuneonce_block&, Parameters...)> {
  static constexpr unsigned kNumParameters = sizeof...(Parameters);
  static constexpr ParameterTable<Parameters...> kTable{};

  static void Invoke(const tuneonce_block* block, void* const* parameters) {
    unsigned i = 0;
    // Braces order the evaluation: parameter 0 first.
    Call caller{block, Read<Parameters>(parameters[i++])...};
    static_cast<void>(caller);
    static_cast<void>(i);
  }

 private:
  struct Call {
    Call(const tuneonce_block* block, Parameters... arguments) { kFunction(*block, arguments...); }
  };
};

template <auto kFunction, typename... Parameters>
struct Kernel<kFunction, void (*)(const tuneonce_block&, Parameters...) noexcept>
    : Kernel<kFunction, void (*)(const tuneonce_block&, Parameters...)> {};

}  // namespace tuneonce_cpu

/// Makes a function launchable under its own name, with this many bytes of static shared memory.
#define TUNEONCE_CPU_KERNEL_WITH_SHARED(function, bytes)                                                 \
  extern "C" __attribute__((visibility("default"))) const tuneonce_kernel tuneonce_kernel_##function = { \
      tuneonce_cpu::kKernelAbiVersion,                                                                   \
      tuneonce_cpu::Kernel<&function, decltype(&function)>::kNumParameters,                              \
      tuneonce_cpu::Kernel<&function, decltype(&function)>::kTable.entries,                              \
      &tuneonce_cpu::Kernel<&function, decltype(&function)>::Invoke,                                     \
      (bytes),                                                                                           \
      1024}
/// Makes a function launchable under its own name.
#define TUNEONCE_CPU_KERNEL(function) TUNEONCE_CPU_KERNEL_WITH_SHARED(function, 0)

#endif  // TUNEONCE_LIB_BASE_CPU_KERNEL_H_
