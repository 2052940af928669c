#ifndef TUNEONCE_CPU_DEVICE_KERNEL_H_
#define TUNEONCE_CPU_DEVICE_KERNEL_H_

/// How a kernel for the CPU device is written. HostToolchain puts this text before every kernel, so a kernel needs no
/// include of its own; include it for an editor's sake. It includes nothing: a candidate compiles in a fraction of a
/// second.
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

extern "C" {

/// One block's place. Extents of the grid and of the block, index of this block, and its shared memory (the static
/// bytes, then the dynamic ones), aligned to 128 bytes and not cleared.
struct tuneonce_block {
  unsigned grid_x, grid_y, grid_z;
  unsigned x, y, z;
  unsigned threads_x, threads_y, threads_z;
  unsigned shared_bytes;
  void* shared;
};

/// Place of one parameter in the kernel's parameter area, in bytes.
struct tuneonce_parameter {
  unsigned offset;
  unsigned size;
};

/// What a module says of one kernel; found as symbol "tuneonce_kernel_<name>".
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

template <auto kFunction, typename Type>
struct Kernel;

template <auto kFunction, typename... Parameters>
struct Kernel<kFunction, void (*)(const tuneonce_block&, Parameters...)> {
  static constexpr unsigned kNumParameters = sizeof...(Parameters);
  static constexpr ParameterTable<Parameters...> kTable{};

  static void Invoke(const tuneonce_block* block, void* const* parameters) {
    unsigned i = 0;
    // Braces order the evaluation: parameter 0 first.
    Call caller{block, *static_cast<Parameters*>(parameters[i++])...};
    static_cast<void>(caller);
    static_cast<void>(i);
  }

 private:
  struct Call {
    Call(const tuneonce_block* block, Parameters... arguments) { kFunction(*block, arguments...); }
  };
};

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

#endif  // TUNEONCE_CPU_DEVICE_KERNEL_H_
