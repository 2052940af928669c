#ifndef TUNEONCE_BINDINGS_PYTHON_LIVE_CALLER_H_
#define TUNEONCE_BINDINGS_PYTHON_LIVE_CALLER_H_

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
#include "live_instance.h"
#include "policy_keywords.h"

namespace tuneonce::python {

/// What calls of one decorated kernel need: its parameters, and an entry for each combination of argument types,
/// constants, and values or layouts that decide the code. Thread rule: needs the GIL.
class LiveCaller {
 public:
  /// `owner` is the Python object that describes new instances and runs what has none (tuneonce.triton.Autotuner,
  /// tuneonce.cutile.Autotuner). It owns this object. `parameters` has (name, default, is a constant, IdentifiedBy) for
  /// each parameter. The default is `...` for a parameter without one. `keywords` are TunedKernel's. `is_function`: it
  /// is called without a grid. Throws.
  LiveCaller(PyObject* owner, const pybind11::list& parameters, const std::string& device,
             const pybind11::dict& keywords, bool is_function);

  /// Calls `kernel[grid](*arguments, **keywords)` as vectorcall passes them. `grid` is null for a kernel that is called
  /// without one, which takes a keyword `stream`.
  PyObject* Call(PyObject* grid, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

  /// Returns the store of records and code.
  std::shared_ptr<RecordStore> store() const;
  bool is_disabled() const;
  /// The instance of the last call; null before the first one.
  const LiveInstance* last() const { return last_; }
  /// Visits what Python's collector of cycles must know (tp_traverse).
  int Traverse(visitproc visit, void* arg) const;

 private:
  /// The property of an argument, unless it is a constant, that decides which entry a call has: its type; that and the
  /// value of an int or bool, or the extents and strides of a tensor; that and the value of a float.
  enum class IdentifiedBy { kType, kLayout, kAnyValue };
  struct Parameter {
    pybind11::object name;
    pybind11::object default_value;  // Null: the parameter has no default.
    bool is_constant;
    IdentifiedBy identified_by;
    std::vector<pybind11::object> constants;  // The values so far; a constant's word has its index.
  };
  /// What a call is: its arguments in order, and what identifies its instance.
  struct BoundArguments;
  struct Entry {
    std::vector<std::uint64_t> words;
    LiveInstance* instance = nullptr;  // Null: the owner runs such calls.
    LiveSignature signature;
  };
  using Entries = std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>>;
  /// A call that runs, which may use any entry: code of Python's may run in it, and let other calls drop them.
  class Running {
   public:
    explicit Running(LiveCaller& caller) : caller_(caller) { ++caller_.num_running_; }
    ~Running() {
      if (--caller_.num_running_ == 0 && !caller_.dropped_.empty()) caller_.dropped_.clear();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    LiveCaller& caller_;
  };

  bool Bind(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, BoundArguments* bound) const;
  bool Identify(KernelCaller::Arguments& read, BoundArguments* bound);
  bool IdentifyTensor(std::size_t parameter, KernelCaller::Arguments& read, BoundArguments* bound) const;
  static bool IdentifyInt(const Parameter& parameter, std::size_t index, BoundArguments* bound);
  static std::optional<std::uint64_t> IndexIn(std::vector<pybind11::object>& values, PyObject* value);
  Entry* Find(const BoundArguments& bound);
  Entry* Describe(const BoundArguments& bound, const KernelCaller::Arguments& read);
  LiveInstance* InstanceOf(const pybind11::object& description);
  PyObject* Launch(PyObject* grid, const BoundArguments& bound, KernelCaller::Arguments& read, Entry& entry,
                   bool* is_refused);
  pybind11::object CallOwner(PyObject* grid, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) const;

  PyObject* owner_;  // Not counted: it owns this object.
  std::string device_name_;
  bool is_function_;  // Called without a grid.
  bool is_cpu_device_;
  KernelKeywords keywords_;
  std::vector<Parameter> parameters_;
  std::vector<pybind11::object> options_;  // Pairs of a name and a value of compiler options so far.
  Entries entries_;
  std::vector<Entries> dropped_;  // Freed when no call runs.
  Entry* last_entry_ = nullptr;   // The last call has it. In entries_.
  int num_running_ = 0;
  std::vector<std::unique_ptr<LiveInstance>> instances_;  // Those that were given up, too: their code may still run.
  LiveInstance* last_ = nullptr;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LIVE_CALLER_H_
