// Uses every layer of an installed tuneonce: a search and a launch on the CPU device, and the table of a result; with
// the arguments STORE BUNDLE also a store on disk, a bundle by folder or name, and one that is embedded. Exit code 0
// only if all worked.
#include <cstdio>
#include <string>

#include "own_absl.h"
#include "tuneonce/report.h"
#include "use.h"
#include "vector_add_bundle.h"

namespace {

tuneonce::Status RememberAndLoad(const std::string& store, const std::string& bundle) {
  using namespace tuneonce;
  SqliteStoreOptions options;
  options.path = store;
  TUNEONCE_RETURN_IF_ERROR(SqliteStore::Open(options).status().WithPrefix("the store"));
  TUNEONCE_RETURN_IF_ERROR(Bundle::Load(bundle).status().WithPrefix("the bundle"));
  return Bundle::Load(vector_add_bundle).status().WithPrefix("the embedded bundle");
}

tuneonce::Status Report() {
  tuneonce::TuningRecord result;
  result.key.kernel = "set";
  return tuneonce::SummaryTable(result).find("set: 0 measured") == 0 ? tuneonce::Status()
                                                                     : tuneonce::InternalError("the table is wrong");
}

}  // namespace

int main(int argc, char** argv) {
  tuneonce::Status status = UseTuneonce();
  if (status.ok()) status = Report();
  if (status.ok() && argc == 3) status = RememberAndLoad(argv[1], argv[2]);
  bool own_absl = absl::StrCat("a", "b") == "own:ab" && absl::Status(3).code() == 3;
  std::printf("consumer: %s, own absl %s\n", status.ToString().c_str(), own_absl ? "untouched" : "BROKEN");
  return status.ok() && own_absl ? 0 : 1;
}
