// make_seeds FOLDER: valid inputs for the fuzzers of what is kept on disk, one folder each.
#include <sys/stat.h>

#include <cstdio>

#include "base/file.h"
#include "compile/cubin.h"
#include "fuzz/checksum.h"
#include "tuneonce/report/records_json.h"
#include "tuneonce/store/sqlite_store.h"

namespace tuneonce {
namespace {

TuningRecord Record(int i) {
  TuningRecord record;
  record.key.kernel = "rms_norm";
  record.key.kernel_fingerprint = {1, static_cast<std::uint64_t>(i)};
  record.key.key_words = {1024, 7};
  record.key.key_text = "M<=1024, x:float16";
  record.key.device_name = "NVIDIA H200";
  record.key.capability = 90;
  record.key.num_sms = 132;
  record.key.driver_version = 13000;
  record.config = "TILE_N=1024, occupancy=2";
  record.variant = "tile";
  record.measurement.mean_us = 4.25;
  record.measurement.error_margin_us = 0.5;
  record.measurement.num_samples = 20;
  record.speedup_over_baseline = i == 0 ? std::optional<double>() : 1.5;
  record.artifact = {1, 2};
  record.tuned_at = "M=1024";
  record.baseline = "TILE_N=4096, occupancy=1";
  record.timer = "cupti";
  record.host = "host";
  record.toolchain = "tileiras 13.0";
  record.unix_seconds = 1700000000;
  return record;
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
  for (int i = 0; i < 3; ++i) TUNEONCE_RETURN_IF_ERROR(store->Put(Record(i)));
  return store->Put(Fingerprint{1, 2}, artifact);
}

Status MakeAll(const std::string& folder) {
  for (const char* name : {"", "/record", "/artifact", "/records_json", "/store"}) {
    mkdir((folder + name).c_str(), 0700);
  }
  for (int i = 0; i < 2; ++i) {
    TUNEONCE_RETURN_IF_ERROR(
        WriteFile(folder + "/record/" + std::to_string(i), WithoutChecksum(EncodeRecord(Record(i)))));
  }
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/records_json/one", RecordsToJson({Record(0)})));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/records_json/two", RecordsToJson({Record(0), Record(1)})));
  TUNEONCE_ASSIGN_OR_RETURN(Artifact two_kernels, CubinArtifact("two_kernels.cubin", "add"));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/artifact/cubin", WithoutChecksum(EncodeArtifact(two_kernels))));
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create());
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
