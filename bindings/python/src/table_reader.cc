#include "table_reader.h"

namespace tuneonce::python {

bool TableRef::ReadTable(PyObject* object, std::size_t count) {
  if (!read_.Read(object)) return false;
  const TensorView& view = read_.view();
  const bool is_words = view.dtype == DType::kInt64 || view.dtype == DType::kUInt64;
  const bool is_dense = view.rank == 1 && (view.strides[0] == 1 || view.shape[0] <= 1);
  if (!is_words || !is_dense || view.shape[0] != static_cast<std::int64_t>(count)) {
    PyErr_Format(PyExc_TypeError, "the table of addresses must be a dense int64 tensor of %zu elements, not %s", count,
                 view.ToString().c_str());
    return false;
  }
  own_ = &read_;
  return true;
}

bool TableRef::Read(PyObject* object, bool is_cpu) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    PyErr_Format(PyExc_TypeError, "expected a tuneonce.PointerTable, got %s", Py_TYPE(object)->tp_name);
    return false;
  }
  PyObject* list = PySequence_Fast(PyTuple_GET_ITEM(object, 1), "the tensors of a PointerTable must be a sequence");
  if (list == nullptr) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  bool is_read = true;
  for (Py_ssize_t i = 0; i < count && is_read; ++i) {
    is_read = tensors_.emplace_back().Read(PySequence_Fast_GET_ITEM(list, i));
    if (is_read) views_.push_back(tensors_.back().view());
  }
  Py_DECREF(list);
  if (!is_read) return false;
  if (!is_cpu && !ReadTable(PyTuple_GET_ITEM(object, 0), views_.size())) return false;
  // On the CPU device an address where nothing lies stands for the table: only its tensors' shapes are looked at.
  void* at = own_ != nullptr ? own_->view().data : static_cast<void*>(views_.data());
  table_ = PointerTable::Of(at, views_.data(), views_.size());
  return true;
}

}  // namespace tuneonce::python
