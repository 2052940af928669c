#ifndef TUNEONCE_BINDINGS_PYTHON_LIVE_CODE_H_
#define TUNEONCE_BINDINGS_PYTHON_LIVE_CODE_H_

#include <Python.h>
#include <cuda.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "live_call.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"

namespace tuneonce::python {

/// Compiled code of one config of a decorated kernel, and what a launch passes to it. Immutable. Thread rule: needs the
/// GIL.
class LiveCode {
 public:
  /// Loads the code of what tuneonce.live.code.Code.parts returned, on the device of the current context. Throws for
  /// parts of other types. Errors: those of CompiledKernel::Create.
  static Result<CompiledKernel> Load(const Device& device, const pybind11::tuple& parts);
  /// Makes one of loaded code for calls with arguments of the types that `values` has. Throws likewise.
  static Result<std::unique_ptr<const LiveCode>> Create(CompiledKernel kernel, const pybind11::tuple& parts,
                                                        PyObject* const* values);

  /// The grid in blocks, which launches of this code have; empty: the call has one.
  const std::optional<std::array<std::uint32_t, 3>>& grid() const { return grid_; }

  /// Launches the code. `grid` has the grid in programs, which may be 0. `values` has the call's arguments by
  /// parameter, `words` what is passed. Errors: the driver's; an exception of Python's is set for an argument that
  /// cannot be passed, and for scratch memory that cannot be allocated.
  Status Launch(const std::uint32_t (&grid)[3], CUstream stream, PyObject* const* values,
                const ArgumentWords& words) const;

 private:
  /// How a parameter of the compiled kernel is passed.
  enum class Form : std::uint8_t { kPointer, kInteger, kFloat32, kFloat64, kWord, kScratch };
  struct Passed {
    std::uint64_t value;  // Index of the call's parameter. kWord: what is passed. kScratch: unused.
    Form form;
  };

  explicit LiveCode(CompiledKernel kernel) : kernel_(std::move(kernel)) {}
  /// Returns memory of Triton's allocator (triton.set_allocator) for `num_programs`, or null with an exception set.
  pybind11::object AllocateScratch(std::uint64_t num_programs, CUstream stream) const;
  static bool ReadFloat(Form form, PyObject* value, std::uint64_t* word);

  CompiledKernel kernel_;
  std::vector<Passed> passed_;
  std::optional<std::array<std::uint32_t, 3>> grid_;
  std::uint32_t blocks_per_program_ = 1;
  std::uint64_t scratch_bytes_ = 0;  // Global scratch of one block.
  std::uint64_t scratch_alignment_ = 1;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LIVE_CODE_H_
