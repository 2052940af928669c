#ifndef TUNEONCE_BINDINGS_PYTHON_TRITON_CALLER_H_
#define TUNEONCE_BINDINGS_PYTHON_TRITON_CALLER_H_

#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel_call.h"
#include "policy_keywords.h"
#include "triton_instance.h"

namespace tuneonce::python {

/// What calls of one decorated Triton kernel need: its parameters, and an instance for each combination of argument
/// types and constants that was called. Thread rule: needs the GIL.
class TritonCaller {
 public:
  /// `owner` is the Python object that describes new instances and runs what has none (tuneonce.triton.Autotuner). It
  /// owns this object. `parameters` has (name, default, is a constant, is in a key of pruned configs) for each
  /// parameter; the default is `...` for a parameter without one. `keywords` are TunedKernel's. Throws.
  TritonCaller(PyObject* owner, const pybind11::list& parameters, const std::string& device,
               const pybind11::dict& keywords);

  /// Calls `kernel[grid](*arguments, **keywords)` as vectorcall passes them.
  PyObject* Call(PyObject* grid, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

  /// Returns the store of records and code.
  std::shared_ptr<RecordStore> store() const;
  bool is_disabled() const;
  /// The instance of the last call; null before the first one.
  const TritonInstance* last() const { return last_ == nullptr ? nullptr : last_->instance.get(); }

 private:
  struct Parameter {
    pybind11::object name;
    pybind11::object default_value;  // Null: the parameter has no default.
    bool is_constant;
    bool is_in_pruned_key;
    std::vector<pybind11::object> constants;  // The values so far; a constant's word has its index.
  };
  /// What a call is: its arguments in order, and what identifies its instance.
  struct BoundArguments;
  struct Entry {
    std::vector<std::uint64_t> words;
    std::unique_ptr<TritonInstance> instance;  // Null: Triton runs such calls.
  };

  bool Bind(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, BoundArguments* bound) const;
  bool Identify(KernelCaller::Arguments& read, BoundArguments* bound);
  std::optional<std::uint64_t> WordOf(Parameter& parameter, PyObject* value, KernelCaller::Arguments& read);
  static std::optional<std::uint64_t> IndexIn(std::vector<pybind11::object>& values, PyObject* value);
  Entry* Find(const BoundArguments& bound) const;
  Entry* Describe(const BoundArguments& bound, const KernelCaller::Arguments& read);
  PyObject* Launch(PyObject* grid, const BoundArguments& bound, KernelCaller::Arguments& read, Entry& entry,
                   bool* is_refused);
  pybind11::object CallTriton(PyObject* grid, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) const;

  PyObject* owner_;  // Not counted: it owns this object.
  std::string device_name_;
  bool is_cpu_device_;
  KernelKeywords keywords_;
  std::vector<Parameter> parameters_;
  std::vector<pybind11::object> options_;  // Pairs of a name and a value of compiler options so far.
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<TritonInstance>> given_up_;  // Their code may still run.
  Entry* last_ = nullptr;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TRITON_CALLER_H_
