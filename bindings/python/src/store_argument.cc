#include "store_argument.h"

#include <string>
#include <utility>
#include <vector>

#include "inspect/runtime_settings.h"
#include "python_status.h"
#include "strict_value.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#ifdef TUNEONCE_WITH_REDIS
#include "tuneonce/redis_store.h"
#endif

namespace tuneonce::python {
namespace {

namespace py = pybind11;

constexpr char kExpected[] =
    "a file's path, 'memory', None (the user's store), 'redis://HOST:PORT/NAME' (the fleet's under the user's), or a "
    "list [one of these, shipped files..., the fleet's]";

bool IsPath(py::handle given) { return py::isinstance<py::str>(given) || py::hasattr(given, "__fspath__"); }

std::shared_ptr<RecordStore> OpenFile(py::handle path, bool read_only) {
  SqliteStoreOptions options;
  options.path = PathOf("store", path);
  options.read_only = read_only;
  if (options.path.empty()) throw py::value_error("store must be a file's path, not ''");
  return ValueOrThrow(SqliteStore::Open(std::move(options)));
}

bool IsAddress(py::handle given) { return py::isinstance<py::str>(given) && NamesFleet(PathOf("store", given)); }

#ifdef TUNEONCE_WITH_REDIS
std::shared_ptr<RecordStore> OpenFleet(py::handle address) {
  const RuntimeSettings settings = RuntimeSettings::Of(*Runtime::Default());
  RedisStoreOptions options;
  options.redis = ValueOrThrow(RedisOptions::Parse(TextOf("store", address)));
  if (options.redis.password.empty()) options.redis.password = settings.redis_password;
  if (!settings.fleet_keys.empty()) options.keys = ValueOrThrow(ReadSigningKeys(settings.fleet_keys));
  options.on_refused = [](const std::string& words) { Runtime::Default()->Warn(words); };
  return ValueOrThrow(RedisStore::Open(std::move(options)));
}
#else
std::shared_ptr<RecordStore> OpenFleet(py::handle) {
  return ValueOrThrow(Result<std::shared_ptr<RecordStore>>(
      UnimplementedError("this tuneonce was built without Redis (TUNEONCE_WITH_REDIS): store cannot be an address")));
}
#endif

std::shared_ptr<RecordStore> OverFleet(std::shared_ptr<RecordStore> machine, py::handle address) {
  FleetUse use;
  use.on_error = [](const std::string& words) { Runtime::Default()->Warn(words); };
  return MakeFleetStore(machine != nullptr ? std::move(machine) : Runtime::Default()->store(), OpenFleet(address),
                        std::move(use));
}

std::shared_ptr<RecordStore> OneStoreOf(py::handle given) {
  if (given.is_none()) return nullptr;
  if (!IsPath(given)) ThrowWrongType("store", kExpected, given);
  if (IsAddress(given)) return OverFleet(nullptr, given);
  if (py::isinstance<py::str>(given) && PathOf("store", given) == "memory") return MakeMemoryStore();
  return OpenFile(given, false);
}

}  // namespace

std::shared_ptr<RecordStore> StoreOf(py::handle given) {
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) return OneStoreOf(given);
  auto layers = py::reinterpret_borrow<py::sequence>(given);
  if (layers.size() == 0) throw py::value_error("store must not be an empty list; None means the user's own store");
  std::shared_ptr<RecordStore> written = OneStoreOf(layers[0]);
  if (layers.size() == 1) return written;
  std::vector<std::shared_ptr<RecordStore>> shipped;
  py::object last = layers[layers.size() - 1];
  const bool has_fleet = IsAddress(last);
  for (std::size_t i = 1; i < layers.size() - (has_fleet ? 1 : 0); ++i) {
    py::object layer = layers[i];
    if (!IsPath(layer)) ThrowWrongType("a shipped store", "a file's path", layer);
    shipped.push_back(OpenFile(layer, true));
  }
  if (written == nullptr) written = Runtime::Default()->store();
  if (!shipped.empty()) written = MakeLayeredStore(std::move(written), std::move(shipped));
  return has_fleet ? OverFleet(std::move(written), last) : written;
}

}  // namespace tuneonce::python
