#ifndef TUNEONCE_BINDINGS_PYTHON_TENSOR_READER_H_
#define TUNEONCE_BINDINGS_PYTHON_TENSOR_READER_H_

#include <Python.h>
#include <cuda.h>

#include <string>

#include "dlpack_abi.h"
#include "tuneonce/arguments.h"

namespace tuneonce::python {

/// A tensor of some framework, as our view of it, for the duration of a call.
class TensorRef {
 public:
  TensorRef() { buffer_.obj = nullptr; }
  ~TensorRef() { Release(); }
  TensorRef(const TensorRef&) = delete;
  TensorRef& operator=(const TensorRef&) = delete;

  /// Reads `object` by the first of these protocols that describes it: its type's DLPack exchange table (torch),
  /// `__cuda_array_interface__`, the buffer protocol (numpy), `__dlpack__`, and for dtypes that numpy itself does not
  /// have (ml_dtypes) the buffer of a view of its bits. False with a Python exception set: TypeError, BufferError or
  /// the framework's own.
  bool Read(PyObject* object);

  const TensorView& view() const { return view_; }
  bool on_cuda() const { return device_.type == kDlCuda || device_.type == kDlCudaManaged; }
  bool on_host() const { return device_.type == kDlCpu || device_.type == kDlCudaHost || device_.type == kDlRocmHost; }
  /// The memory's kind as a message names it: "CUDA", "host", "ROCm".
  std::string MemoryName() const;
  int device_id() const { return device_.id; }
  /// The framework's current stream on the tensor's device, if it states one by its exchange table.
  bool CurrentStream(void** stream) const {
    return api_ != nullptr && api_->current_stream != nullptr &&
           api_->current_stream(device_.type, device_.id, stream) == 0;
  }
  /// The stream of `__cuda_array_interface__`, behind which the tensor's values are complete; null if it states none.
  CUstream producer_stream() const { return producer_stream_; }
  /// Why nothing may be written to the tensor; null if it is writable.
  const char* read_only() const { return read_only_; }

 private:
  void Release() {
    if (capsule_ != nullptr) Py_CLEAR(capsule_);
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }
  bool FromDl(const DlTensor& tensor);
  /// Sets the TypeError of FromDl.
  bool RefuseDl(const DlTensor& tensor);
  bool FromCudaArrayInterface(PyObject* interface);
  bool FromBuffer(PyObject* object);
  bool FromDlpack(PyObject* object);
  bool FromNamedDType(PyObject* object);
  /// Reads an object by `__dlpack__` or the dtype's name, after the buffer protocol failed with the current exception,
  /// if one is set.
  bool ReadOtherwise(PyObject* object);
  bool ReadStream(PyObject* interface);
  /// From extents and strides. TypeError for a negative extent, and for a negative stride along several elements:
  /// kernels get memory from the first element on.
  bool SetBytes(std::size_t element);
  /// Sets the TypeError of SetBytes, if there is one.
  bool CheckLayout();
  /// `row_major`: in bytes, for a dimension of at most one element, whose stride has no meaning. TypeError for a stride
  /// that no number of elements makes (a field of records).
  bool SetStride(int dimension, std::int64_t bytes, std::int64_t row_major, std::int64_t element);

  TensorView view_;
  DlDevice device_{kDlCpu, 0};
  const DlExchangeApi* api_ = nullptr;
  CUstream producer_stream_ = nullptr;
  const char* read_only_ = nullptr;
  PyObject* capsule_ = nullptr;  // Keeps the memory during the call.
  Py_buffer buffer_;             // Without an `obj`: unused.
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TENSOR_READER_H_
