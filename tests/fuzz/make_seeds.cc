// make_seeds FOLDER: valid inputs for the fuzzers of what is kept on disk, one folder each.
#include <sys/stat.h>

#include <cstdio>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/cubin.h"
#include "fuzz/checksum.h"
#include "report/records_json.h"
#include "testing/record_changes.h"
#include "testing/tools.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/sqlite_store.h"

namespace tuneonce {
namespace {

/// One with nothing but its key, and one with a value in every field.
std::vector<TuningRecord> Records() {
  std::vector<TuningRecord> records(2);
  for (const testing::RecordChange& change : testing::RecordChanges()) change.apply(records[1]);
  records[0].key.kernel = "rms_norm";
  return records;
}

Result<Artifact> CubinArtifact(const std::string& name, const std::string& symbol) {
  Artifact artifact;
  TUNEONCE_ASSIGN_OR_RETURN(artifact.image, ReadFile(std::string(TUNEONCE_TEST_DATA "/cubin/") + name));
  artifact.symbol = symbol;
  artifact.log = "a log";
  artifact.toolchain = "ptxas 13.0";
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact));
  return artifact;
}

Status MakeStore(const std::string& path, const Artifact& artifact) {
  SqliteStoreOptions where;
  where.path = path;
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, SqliteStore::Open(where));
  for (const TuningRecord& record : Records()) TUNEONCE_RETURN_IF_ERROR(store->Put(record));
  return store->Put(Fingerprint{1, 2}, artifact);
}

Status MakeAll(const std::string& folder) {
  for (const char* name : {"", "/record", "/artifact", "/records_json", "/store"}) {
    mkdir((folder + name).c_str(), 0700);
  }
  std::vector<TuningRecord> records = Records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string name = std::to_string(i);
    TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/record/" + name, WithoutChecksum(EncodeRecord(records[i]))));
    TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/records_json/" + name, RecordsToJson({records[i]})));
  }
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/records_json/all", RecordsToJson(records)));
  TUNEONCE_ASSIGN_OR_RETURN(Artifact two_kernels, CubinArtifact("two_kernels.cubin", "add"));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/artifact/cubin", WithoutChecksum(EncodeArtifact(two_kernels))));
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder temporary, testing::MakeFolder());
  TUNEONCE_RETURN_IF_ERROR(MakeStore(temporary.path() + "/store.db", two_kernels));  // Whole once it is closed.
  TUNEONCE_ASSIGN_OR_RETURN(std::string store, ReadFile(temporary.path() + "/store.db"));
  return WriteFile(folder + "/store/store.db", store);
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  tuneonce::Status status =
      argc == 2 ? tuneonce::MakeAll(argv[1]) : tuneonce::InvalidArgumentError("usage: make_seeds FOLDER");
  if (!status.ok()) std::fprintf(stderr, "make_seeds: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
