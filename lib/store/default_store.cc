#include "store/default_store.h"

#include <utility>

#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<std::shared_ptr<SqliteStore>> OpenFile(const Environment& environment) {
  SqliteStoreOptions options;
  TUNEONCE_ASSIGN_OR_RETURN(options.path, DefaultStorePath(environment));
  return SqliteStore::Open(std::move(options));
}

}  // namespace

bool IsFleetAddress(const std::string& name) {
  return name.compare(0, 5, "redis") == 0 && name.find("://") != std::string::npos;
}

Result<std::string> DefaultStorePath(const Environment& environment) {
  if (IsFleetAddress(environment.store)) {
    return InvalidArgumentError(
        "TUNEONCE_STORE names a fleet's store, but must name a local file: pass a fleet's store to each kernel "
        "(MakeFleetStore; store= in Python)");
  }
  if (environment.store == "memory") {
    return InvalidArgumentError("TUNEONCE_STORE is 'memory', whose records end with their process: name a store's file");
  }
  if (!environment.store.empty()) return environment.store;
  // The XDG Base Directory Specification has relative paths ignored: each working directory would get a store.
  if (environment.cache_folder.rfind('/', 0) == 0) return environment.cache_folder + "/tuneonce/store.db";
  if (!environment.home.empty()) return environment.home + "/.cache/tuneonce/store.db";
  return FailedPreconditionError("no folder for the store is known: set TUNEONCE_STORE, XDG_CACHE_HOME or HOME");
}

DefaultStore OpenDefaultStore(const Environment& environment, std::shared_ptr<RecordStore> memory) {
  if (environment.store == "memory") return {std::move(memory), ""};
  Result<std::shared_ptr<SqliteStore>> opened = OpenFile(environment);
  if (opened.ok()) return {*std::move(opened), ""};
  // A build without SQLite has no file: no warning.
  if (opened.status().code() == StatusCode::kUnimplemented) return {std::move(memory), ""};
  return {std::move(memory), opened.status().message() + "; records are kept in memory only"};
}

}  // namespace v0
}  // namespace tuneonce
