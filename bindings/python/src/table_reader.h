#ifndef TUNEONCE_BINDINGS_PYTHON_TABLE_READER_H_
#define TUNEONCE_BINDINGS_PYTHON_TABLE_READER_H_

#include <Python.h>

#include <deque>
#include <vector>

#include "tensor_reader.h"
#include "tuneonce/arguments.h"

namespace tuneonce::python {

/// A tuneonce.PointerTable, (table, tensors), as our view of it, for the duration of a call. Neither copied nor moved.
class TableRef {
 public:
  TableRef() = default;
  TableRef(const TableRef&) = delete;
  TableRef& operator=(const TableRef&) = delete;

  /// Reads the pair. On the CPU device (`is_cpu`) its first half is not looked at, since the table is made for each
  /// call of where the tensors are staged. False with a Python exception set: a TypeError without the parameter's name,
  /// or the framework's own.
  bool Read(PyObject* object, bool is_cpu);

  const PointerTable& table() const { return table_; }
  /// The table's own tensor; null on the CPU device.
  const TensorRef* own() const { return own_; }
  const std::deque<TensorRef>& tensors() const { return tensors_; }
  const std::vector<TensorView>& views() const { return views_; }

 private:
  bool ReadTable(PyObject* object, std::size_t count);

  TensorRef read_;
  const TensorRef* own_ = nullptr;  // Null, or read_.
  std::deque<TensorRef> tensors_;
  std::vector<TensorView> views_;
  PointerTable table_;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TABLE_READER_H_
