#include "tile_ir_compile.h"

#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "initialized_caster.h"
#include "python_signals.h"
#include "python_status.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/runtime.h"
#include "tuning/background_compile.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// One compile, which starts in the constructor. Thread rule: any thread that holds the GIL.
class TileIrCompile {
 public:
  /// `capability` is that of the device, as (major, minor).
  TileIrCompile(const py::bytes& bytecode, std::string symbol, std::vector<std::string> options,
                const std::pair<int, int>& capability) {
    main_thread_ = MainThread();
    if (main_thread_ == 0) throw py::error_already_set();
    Target target;
    target.capability_major = capability.first;
    target.capability_minor = capability.second;
    KernelSource source = KernelSource::TileIr(std::string(bytecode), std::move(symbol));
    source.options = std::move(options);
    py::gil_scoped_release release;
    compile_ = std::make_unique<BackgroundCompile>(
        Runtime::Default(), std::move(source), target,
        StopToken([main_thread = main_thread_] { return SignalRaised(main_thread); }));
  }

  ~TileIrCompile() {
    py::gil_scoped_release release;  // A running compile is stopped.
    compile_.reset();
  }

  /// Waits for its end. The image, and the seconds that it took: 0 from the cache. Throws its error, or what a signal's
  /// handler raised meanwhile.
  py::tuple Wait() {
    const Result<Artifact>* artifact = nullptr;
    {
      py::gil_scoped_release release;
      std::lock_guard<std::mutex> lock(mutex_);
      artifact = &compile_->Wait();
    }
    ForgetSignal();
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    ThrowIfError(artifact->status());
    return py::make_tuple(py::bytes((*artifact)->image), compile_->is_from_cache() ? 0 : (*artifact)->seconds);
  }

 private:
  unsigned long main_thread_ = 0;
  std::mutex mutex_;  // Never waited for with the GIL held.
  std::unique_ptr<BackgroundCompile> compile_;
};

}  // namespace
}  // namespace tuneonce::python

template <>
class pybind11::detail::type_caster<tuneonce::python::TileIrCompile>
    : public tuneonce::python::InitializedCaster<tuneonce::python::TileIrCompile> {};

namespace tuneonce::python {

void AddTileIrCompile(py::module_& module) {
  py::class_<TileIrCompile>(module, "_TileIrCompile", "Tile IR bytecode that is compiled while Python goes on.")
      .def(py::init<py::bytes, std::string, std::vector<std::string>, std::pair<int, int>>(), py::arg("bytecode"),
           py::arg("symbol"), py::arg("options"), py::arg("capability"))
      .def("wait", &TileIrCompile::Wait, "Waits for its end: (image, seconds that it took; 0 from a cache).");
}

}  // namespace tuneonce::python
