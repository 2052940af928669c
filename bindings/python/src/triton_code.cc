#include "triton_code.h"

#include <pybind11/stl.h>

#include <cstring>
#include <string>
#include <utility>

#include "tuneonce/arguments.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce::python {

namespace py = pybind11;

Result<std::unique_ptr<const TritonCode>> TritonCode::Load(const Device& device, const py::tuple& parts) {
  KernelSource source = KernelSource::Cubin(parts[1].cast<std::string>(), parts[2].cast<std::string>());
  const std::optional<SourceKind> kind = SourceKindNamed(parts[0].cast<std::string>());
  if (!kind) return InvalidArgumentError("the code of a Triton kernel is of an unknown kind");
  source.kind = *kind;
  Geometry geometry;
  geometry.block.x = parts[3].cast<std::int64_t>();
  geometry.shared_memory_bytes = parts[4].cast<std::int64_t>();
  geometry.cluster.x = parts[5].cast<std::int64_t>();
  geometry.programmatic_launch = parts[6].cast<bool>();
  TUNEONCE_ASSIGN_OR_RETURN(CompiledKernel kernel, CompiledKernel::Create(device, source, Hints(), geometry));
  std::unique_ptr<TritonCode> code(new TritonCode(std::move(kernel)));
  code->blocks_per_program_ = static_cast<std::uint32_t>(geometry.cluster.x);
  code->scratch_bytes_ = parts[7].cast<std::uint64_t>();
  code->scratch_alignment_ = parts[8].cast<std::uint64_t>();
  for (py::handle each : parts[9].cast<py::list>()) {
    auto [parameter, form] = each.cast<std::pair<std::size_t, std::string>>();
    if (parameter >= kMaxParameters) return InvalidArgumentError("a Triton kernel has too many parameters");
    code->passed_.push_back({parameter, form == "pointer"   ? Form::kPointer
                                        : form == "integer" ? Form::kInteger
                                        : form == "float32" ? Form::kFloat32
                                                            : Form::kFloat64});
  }
  if (code->passed_.size() > kMaxParameters) return InvalidArgumentError("a Triton kernel has too many parameters");
  return std::unique_ptr<const TritonCode>(std::move(code));
}

bool TritonCode::Read(const Passed& passed, PyObject* value, std::uint64_t* word) const {
  *word = 0;
  if (passed.form == Form::kInteger) {
    *word = PyLong_AsUnsignedLongLongMask(value);  // Little endian: a narrower parameter has its lowest bytes.
  } else {
    const double real = PyFloat_AsDouble(value);
    const auto narrow = static_cast<float>(real);
    if (passed.form == Form::kFloat32) {
      std::memcpy(word, &narrow, sizeof(narrow));
    } else {
      std::memcpy(word, &real, sizeof(real));
    }
  }
  return PyErr_Occurred() == nullptr;
}

py::object TritonCode::AllocateScratch(std::uint64_t num_programs, CUstream stream) const {
  const std::uint64_t bytes = num_programs * blocks_per_program_ * scratch_bytes_;
  try {
    py::object allocator = py::module_::import("triton.runtime._allocation").attr("_allocator");
    return allocator.attr("get")()(bytes, scratch_alignment_, reinterpret_cast<std::uintptr_t>(stream));
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  }
  return py::object();
}

Status TritonCode::Launch(const std::uint32_t (&grid)[3], CUstream stream, PyObject* const* values,
                          const CUdeviceptr* data) const {
  const std::uint64_t num_programs = std::uint64_t{grid[0]} * grid[1] * grid[2];
  if (num_programs == 0) return Status();
  std::uint64_t words[kMaxParameters];
  void* parameters[kMaxParameters + 2];
  std::size_t count = 0;
  for (const Passed& each : passed_) {
    std::uint64_t* word = &words[count];
    if (each.form == Form::kPointer) {
      *word = data[each.parameter];
    } else if (!Read(each, values[each.parameter], word)) {
      return InvalidArgumentError("an argument cannot be passed to the kernel");
    }
    parameters[count++] = word;
  }
  CUdeviceptr scratch[2] = {0, 0};  // Global scratch, and that of a profiler.
  py::object memory;
  if (scratch_bytes_ > 0) {
    memory = AllocateScratch(num_programs, stream);
    if (!memory) return ResourceExhaustedError("the kernel's global scratch memory cannot be allocated");
    scratch[0] = memory.attr("data_ptr")().cast<CUdeviceptr>();
  }
  parameters[count++] = &scratch[0];
  parameters[count++] = &scratch[1];
  const std::uint32_t blocks[3] = {grid[0] * blocks_per_program_, grid[1], grid[2]};
  return kernel_.Launch(stream, blocks, parameters);
}

}  // namespace tuneonce::python
