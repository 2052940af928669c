#include "live_code.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tuneonce/arguments.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce::python {

namespace py = pybind11;

namespace {

// A tensor of cuTile's is passed as an address, extents and strides.
constexpr std::size_t kMostPassed = 1024;
constexpr std::array<std::string_view, 6> kFormNames = {"pointer", "integer", "float32", "float64", "word", "scratch"};

}  // namespace

Result<CompiledKernel> LiveCode::Load(const Device& device, const py::tuple& parts) {
  KernelSource source = KernelSource::Cubin(parts[1].cast<std::string>(), parts[2].cast<std::string>());
  const std::optional<SourceKind> kind = SourceKindNamed(parts[0].cast<std::string>());
  if (!kind) return InvalidArgumentError("the code of a kernel is of an unknown kind");
  source.kind = *kind;
  Geometry geometry;
  geometry.block.x = parts[3].cast<std::int64_t>();
  geometry.shared_memory_bytes = parts[4].cast<std::int64_t>();
  geometry.cluster.x = parts[5].cast<std::int64_t>();
  geometry.programmatic_launch = parts[6].cast<bool>();
  return CompiledKernel::Create(device, source, Hints(), geometry);
}

Result<std::unique_ptr<const LiveCode>> LiveCode::Create(CompiledKernel kernel, const py::tuple& parts,
                                                         PyObject* const* values) {
  std::unique_ptr<LiveCode> code(new LiveCode(std::move(kernel)));
  code->blocks_per_program_ = parts[5].cast<std::uint32_t>();
  code->scratch_bytes_ = parts[7].cast<std::uint64_t>();
  code->scratch_alignment_ = parts[8].cast<std::uint64_t>();
  for (py::handle each : parts[9].cast<py::list>()) {
    auto [value, form] = each.cast<std::pair<py::int_, std::string>>();
    const auto found = std::find(kFormNames.begin(), kFormNames.end(), form);
    if (found == kFormNames.end()) return InvalidArgumentError("a kernel's parameter is passed in an unknown form");
    const Passed passed = {PyLong_AsUnsignedLongLongMask(value.ptr()), static_cast<Form>(found - kFormNames.begin())};
    if (passed.form <= Form::kFloat64) {
      if (passed.value >= kMaxParameters) return InvalidArgumentError("a kernel has too many parameters");
      PyObject* value_of_call = values[passed.value];
      const bool is_number = value_of_call != nullptr && (passed.form != Form::kInteger || PyLong_Check(value_of_call));
      if (!is_number) return InvalidArgumentError("an argument cannot be passed to the kernel");
    }
    code->passed_.push_back(passed);
  }
  if (code->passed_.size() > kMostPassed) return InvalidArgumentError("a kernel has too many parameters");
  code->grid_ = parts[10].cast<std::optional<std::array<std::uint32_t, 3>>>();
  return std::unique_ptr<const LiveCode>(std::move(code));
}

bool LiveCode::ReadFloat(Form form, PyObject* value, std::uint64_t* word) {
  const double real = PyFloat_AsDouble(value);  // Converts an int, too.
  if (real == -1 && PyErr_Occurred() != nullptr) return false;
  const auto narrow = static_cast<float>(real);
  *word = 0;
  if (form == Form::kFloat32) {
    std::memcpy(word, &narrow, sizeof(narrow));
  } else {
    std::memcpy(word, &real, sizeof(real));
  }
  return true;
}

py::object LiveCode::AllocateScratch(std::uint64_t num_programs, CUstream stream) const {
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

Status LiveCode::Launch(const std::uint32_t (&grid)[3], CUstream stream, PyObject* const* values,
                        const ArgumentWords& words) const {
  const std::uint64_t num_programs = std::uint64_t{grid[0]} * grid[1] * grid[2];
  if (num_programs == 0) return Status();
  std::uint64_t floats[kMaxParameters];
  const void* parameters[kMostPassed];  // Little endian: a narrower parameter has the lowest bytes of a word.
  std::size_t count = 0;
  py::object memory;
  std::uint64_t scratch = 0;
  for (const Passed& each : passed_) {
    const void*& parameter = parameters[count++];
    switch (each.form) {
      case Form::kPointer:
      case Form::kInteger:
        parameter = &words.values[each.value];
        break;
      case Form::kFloat32:
      case Form::kFloat64:
        parameter = &floats[each.value];
        if (!ReadFloat(each.form, values[each.value], &floats[each.value])) {
          return InvalidArgumentError("an argument cannot be passed to the kernel");
        }
        break;
      case Form::kWord:
        parameter = &each.value;
        break;
      case Form::kScratch:
        parameter = &scratch;
        if (scratch_bytes_ == 0) break;
        memory = AllocateScratch(num_programs, stream);
        if (!memory) return ResourceExhaustedError("the kernel's global scratch memory cannot be allocated");
        scratch = memory.attr("data_ptr")().cast<CUdeviceptr>();
    }
  }
  const std::uint32_t blocks[3] = {grid[0] * blocks_per_program_, grid[1], grid[2]};
  return kernel_.Launch(stream, blocks, const_cast<void**>(parameters));
}

}  // namespace tuneonce::python
