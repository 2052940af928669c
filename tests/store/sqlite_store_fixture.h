#ifndef TUNEONCE_TESTS_STORE_SQLITE_STORE_FIXTURE_H_
#define TUNEONCE_TESTS_STORE_SQLITE_STORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/temporary_folder.h"
#include "testing/expect_status.h"
#include "testing/record_changes.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce::testing {

inline TuningRecord Record(std::uint64_t word, const std::string& config = "TILE=1", int driver = 13000,
                           const std::string& device = "H200") {
  TuningRecord record;
  record.key.kernel = "k";
  record.key.kernel_fingerprint = Fingerprint{1, 2};
  record.key.key_words = {word, 7};
  record.key.key_text = "N=" + std::to_string(word);
  record.key.device_name = device;
  record.key.capability = 90;
  record.key.num_sms = 132;
  record.key.driver_version = driver;
  record.best.config = NamedConfig(config);
  record.best.kind = OutcomeKind::kMeasured;
  record.best.variant = "tile";
  record.best.measurement.mean_us = 1.5;
  record.best.measurement.error_margin_us = 0.25;
  record.best.measurement.num_samples = 3;
  record.speedup_over_baseline = 1.25;
  record.best.artifact = Fingerprint{3, word};
  record.baseline.emplace().config = NamedConfig("TILE=0");
  record.baseline->variant = "tile";
  record.baseline->artifact = Fingerprint{4, word};
  record.timer = "cupti";
  record.host = "here";
  record.unix_seconds = 1700000000;
  return record;
}

inline Artifact ArtifactOf(std::size_t bytes, char fill = 'x') {
  Artifact artifact;
  artifact.image = std::string(bytes, fill);
  artifact.symbol = "k";
  artifact.code_fingerprint = Fingerprint{5, 6};
  return artifact;
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> folder = MakeFolder();
    ASSERT_OK(folder);
    folder_.emplace(*std::move(folder));
    path_ = folder_->path() + "/cache/store.db";
  }
  std::shared_ptr<SqliteStore> Open(std::int64_t max_bytes = 1 << 30) {
    SqliteStoreOptions options;
    options.path = path_;
    options.max_artifact_bytes = max_bytes;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    EXPECT_OK(store);
    return store.ok() ? *store : nullptr;
  }
  Status OpenError(const std::string& path) {
    SqliteStoreOptions options;
    options.path = path;
    return SqliteStore::Open(options).status();
  }
  int NumSetAside() {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_->path() + "/cache")) {
      std::string name = file.path().filename();
      bool is_database =
          name.size() > 4 && name.find("-wal") == std::string::npos && name.find("-shm") == std::string::npos;
      count += is_database && name.find(".corrupt-") != std::string::npos ? 1 : 0;
    }
    return count;
  }

  std::optional<TemporaryFolder> folder_;
  std::string path_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_STORE_SQLITE_STORE_FIXTURE_H_
