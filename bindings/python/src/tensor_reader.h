#ifndef TUNEONCE_BINDINGS_PYTHON_TENSOR_READER_H_
#define TUNEONCE_BINDINGS_PYTHON_TENSOR_READER_H_

#include <Python.h>

#include "cuda/driver_api.h"
#include "dlpack_abi.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce::python {

/// A tensor of some framework, as our view of it, for the duration of a call.
class TensorRef {
 public:
  TensorRef() = default;
  ~TensorRef() { Release(); }
  TensorRef(const TensorRef&) = delete;
  TensorRef& operator=(const TensorRef&) = delete;

  /// Reads `object` by, in this order: its type's DLPack exchange table (torch), `__cuda_array_interface__`, the buffer
  /// protocol (numpy), `__dlpack__`. False with a Python exception set (TypeError, BufferError or the framework's own).
  bool Read(PyObject* object);

  const TensorView& view() const { return view_; }
  bool on_cuda() const { return device_.type == kDlCuda || device_.type == kDlCudaManaged; }
  int device_id() const { return device_.id; }
  /// The framework's current stream on the tensor's device, if it says one by its exchange table.
  bool CurrentStream(void** stream) const {
    return api_ != nullptr && api_->current_stream != nullptr &&
           api_->current_stream(device_.type, device_.id, stream) == 0;
  }
  /// The array behind a numpy tensor can be written.
  bool is_writable() const { return is_writable_; }

 private:
  void Release();
  bool FromDl(const DlTensor& tensor);
  bool FromCudaArrayInterface(PyObject* interface);
  bool FromBuffer(PyObject* object);
  bool FromDlpack(PyObject* object);
  /// From extents and strides. TypeError for a negative stride along several elements: kernels get memory from the
  /// first element on.
  bool SetBytes(std::size_t element);
  /// TypeError for one that no number of elements makes (a field of records).
  bool SetStride(int dimension, std::int64_t bytes, std::int64_t element);

  TensorView view_;
  DlDevice device_{kDlCpu, 0};
  const DlExchangeApi* api_ = nullptr;
  bool is_writable_ = true;
  PyObject* capsule_ = nullptr;  // What keeps the memory for the call.
  Py_buffer buffer_{};
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TENSOR_READER_H_
