#include "store_argument.h"

#include <string>
#include <utility>
#include <vector>

#include "python_status.h"
#include "strict_value.h"
#include "tuneonce/runtime.h"
#include "tuneonce/sqlite_store.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

constexpr char kExpected[] =
    "a file's path, 'memory', None (the user's store), or a list [one of these, shipped files...]";

bool IsPath(py::handle given) { return py::isinstance<py::str>(given) || py::hasattr(given, "__fspath__"); }

std::shared_ptr<RecordStore> OpenFile(py::handle path, bool read_only) {
  SqliteStoreOptions options;
  options.path = PathOf("store", path);
  options.read_only = read_only;
  if (options.path.empty()) throw py::value_error("store is a file's path, not ''");
  return ValueOrThrow(SqliteStore::Open(std::move(options)));
}

std::shared_ptr<RecordStore> OneStoreOf(py::handle given) {
  if (given.is_none()) return nullptr;
  if (!IsPath(given)) ThrowWrongType("store", kExpected, given);
  if (py::isinstance<py::str>(given) && given.cast<std::string>() == "memory") return MakeMemoryStore();
  return OpenFile(given, false);
}

}  // namespace

std::shared_ptr<RecordStore> StoreOf(py::handle given) {
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) return OneStoreOf(given);
  auto layers = py::reinterpret_borrow<py::sequence>(given);
  if (layers.size() == 0) throw py::value_error("store is a list of no stores; None is the user's own");
  std::shared_ptr<RecordStore> written = OneStoreOf(layers[0]);
  if (layers.size() == 1) return written;
  std::vector<std::shared_ptr<RecordStore>> shipped;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    py::object layer = layers[i];
    if (!IsPath(layer)) ThrowWrongType("a shipped store", "a file's path", layer);
    shipped.push_back(OpenFile(layer, true));
  }
  return MakeLayeredStore(written != nullptr ? written : Runtime::Default()->store(), std::move(shipped));
}

}  // namespace tuneonce::python
