// KernelCaller's calls on the CPU device, whose kernels run on copies of the host's arrays.
#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "kernel_arguments.h"
#include "kernel_call.h"
#include "python_signals.h"
#include "staged_tensors.h"
#include "tuneonce/device.h"

namespace tuneonce::python {
namespace {

/// Waits for the stream when it is destroyed: after an error, too, copies may be running, and the caller may free the
/// arrays as soon as the call returns.
class WaitsAtEnd {
 public:
  explicit WaitsAtEnd(StreamView stream) : stream_(stream) {}
  ~WaitsAtEnd() { (void)stream_.Synchronize(); }
  WaitsAtEnd(const WaitsAtEnd&) = delete;
  WaitsAtEnd& operator=(const WaitsAtEnd&) = delete;

 private:
  const StreamView stream_;
};

}  // namespace

Status KernelCaller::UseStaged(Arguments& arguments, Use use) {
  std::unique_lock<std::recursive_timed_mutex> lock(cpu_mutex_, std::defer_lock);
  while (!lock.try_lock_for(kSignalPoll)) {
    if (interrupted_()) return CancelledError("interrupted while another thread's call runs");
  }
  ScopedContext current(primary_.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  // Launches without staging: nothing is launched, or an error is returned, before the tensors' memory is accessed.
  auto is_empty = [](const Argument& argument) { return argument.is_tensor() && !argument.tensor().HasElements(); };
  if (std::any_of(arguments.list(), arguments.list() + arguments.count, is_empty)) {
    return Do(use, cpu_stream_->get(), arguments.list(), arguments.count, arguments.plan);
  }
  // All tensors, those of tables in their place; without those that have no elements.
  std::vector<TensorView> host;
  for (std::size_t i = 0; i < arguments.count; ++i) {
    const Argument& argument = arguments.list()[i];
    const TensorView* views = argument.is_table() ? argument.table().tensors : &argument.tensor();
    const std::size_t count = argument.is_table() ? argument.table().count : argument.is_tensor() ? 1 : 0;
    std::copy_if(views, views + count, std::back_inserter(host), [](const TensorView& v) { return v.HasElements(); });
  }
  const WaitsAtEnd waits(cpu_stream_->view());
  TUNEONCE_ASSIGN_OR_RETURN(StagedTensors staged, StagedTensors::Create(host, cpu_stream_->view()));
  std::vector<std::unique_ptr<StagedTable>> tables;
  std::vector<Argument> list;
  std::vector<std::size_t> written;
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.count; ++i) {
    const Argument& argument = arguments.list()[i];
    const std::size_t first = next;
    if (argument.is_table()) {
      std::vector<TensorView> tensors(argument.table().tensors, argument.table().tensors + argument.table().count);
      for (TensorView& tensor : tensors) {
        if (tensor.HasElements()) tensor = staged.view(next++);
      }
      TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<StagedTable> table,
                                StagedTable::Create(std::move(tensors), cpu_stream_->view()));
      list.emplace_back(table->table());
      tables.push_back(std::move(table));
    } else {
      list.push_back(argument.is_tensor() ? Argument(staged.view(next++)) : argument);
    }
    if (expected_[i].parameter->access == Access::kIn) continue;
    for (std::size_t tensor = first; tensor < next; ++tensor) written.push_back(tensor);
  }
  TUNEONCE_RETURN_IF_ERROR(Do(use, cpu_stream_->get(), list.data(), list.size(), arguments.plan));
  if (use != Use::kLaunch) return cpu_stream_->view().Synchronize();
  for (std::size_t tensor : written) TUNEONCE_RETURN_IF_ERROR(staged.CopyBack(tensor));
  return cpu_stream_->view().Synchronize();
}

PyObject* KernelCaller::CallOnCpuDevice(Arguments& arguments, Use use) {
  Status status;
  Py_BEGIN_ALLOW_THREADS;
  status = UseStaged(arguments, use);
  Py_END_ALLOW_THREADS;
  return Ended(status);
}

}  // namespace tuneonce::python
