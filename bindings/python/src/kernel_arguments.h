#ifndef TUNEONCE_BINDINGS_PYTHON_KERNEL_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_PYTHON_KERNEL_ARGUMENTS_H_

#include <Python.h>

#include <memory>
#include <new>
#include <vector>

#include "kernel_call.h"
#include "python_signals.h"
#include "python_status.h"
#include "table_reader.h"
#include "tensor_reader.h"
#include "tuneonce/arguments.h"

namespace tuneonce::python {

/// Returns the result of a call: None, or null with an exception set, which may be that of a signal handler.
inline PyObject* Ended(const Status& status) {
  ForgetSignal();
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (!status.ok()) return SetException(status);
  Py_RETURN_NONE;
}

/// One call's arguments: the tensors, which are held during the call, and the list for the kernel, which points to
/// them. Private to KernelCaller. Thread rule: one thread.
class KernelCaller::Arguments {
 public:
  Arguments() = default;
  ~Arguments() {
    for (std::size_t i = 0; i < num_tensors; ++i) tensor(i).~TensorRef();
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Room for one more tensor: made as needed, since most kernels have few.
  TensorRef& AddTensor() { return *new (&storage[num_tensors++ * sizeof(TensorRef)]) TensorRef(); }
  TensorRef& tensor(std::size_t i) { return *reinterpret_cast<TensorRef*>(&storage[i * sizeof(TensorRef)]); }
  void Add(const Argument& argument) { new (&list_storage[count++ * sizeof(Argument)]) Argument(argument); }
  const Argument* list() const { return reinterpret_cast<const Argument*>(list_storage); }

  TableRef& AddTable() { return *tables.emplace_back(std::make_unique<TableRef>()); }

  /// Calls `use` with each tensor, and with those of tables, until one returns false.
  template <typename Use>
  bool ForEach(const Use& use) {
    for (std::size_t i = 0; i < num_tensors; ++i) {
      if (!use(tensor(i))) return false;
    }
    for (const auto& table : tables) {
      if (table->own() != nullptr && !use(*table->own())) return false;
      for (const TensorRef& each : table->tensors()) {
        if (!use(each)) return false;
      }
    }
    return true;
  }

  std::vector<std::unique_ptr<TableRef>> tables;
  std::size_t num_tensors = 0;
  std::size_t count = 0;
  LaunchPlan* plan = nullptr;  // Use::kExplain: where the answer goes.
  std::uint64_t words[kMaxParameters];
  alignas(TensorRef) unsigned char storage[kMaxParameters * sizeof(TensorRef)];
  alignas(Argument) unsigned char list_storage[kMaxParameters * sizeof(Argument)];
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_KERNEL_ARGUMENTS_H_
