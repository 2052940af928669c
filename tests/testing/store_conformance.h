#ifndef TUNEONCE_TESTS_TESTING_STORE_CONFORMANCE_H_
#define TUNEONCE_TESTS_TESTING_STORE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "testing/expect_status.h"
#include "testing/record_changes.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce::testing {

inline TuningRecord ConformingRecord(const std::string& config, const std::string& device = "H200", int driver = 13000,
                                     std::uint64_t kernel = 1) {
  TuningRecord record;
  record.key.kernel = "norm";
  record.key.kernel_fingerprint = Fingerprint{1, kernel};
  record.key.key_words = {7, 8};
  record.key.key_text = "M<=64";
  record.key.device_name = device;
  record.key.driver_version = driver;
  record.best.config = NamedConfig(config);
  record.best.artifact = Fingerprint{5, 1};
  return record;
}

inline Artifact ConformingArtifact(const std::string& image) {
  Artifact artifact;
  artifact.image = image;
  artifact.symbol = "norm";
  artifact.parameters = {"tile<ptr<f16>>", "tile<i32>"};
  artifact.dependencies = {{"norm.h", Fingerprint{6, 6}}};
  return artifact;
}

inline WaitLimits AtOnce() {
  WaitLimits limits;
  limits.timeout_ms = 0;
  return limits;
}

/// The best record is found, replaced in its place, listed in the order of the puts, and removed.
inline void ExpectKeepsRecords(RecordStore& store) {
  const TuningKey key = ConformingRecord("").key;
  EXPECT_EQ(store.Lookup(key)->Miss(), RecordMiss::kNoRecord);
  EXPECT_TRUE(store.List()->empty());
  EXPECT_OK(store.Remove(key));
  ASSERT_OK(store.Put(ConformingRecord("other source", "H200", 13000, /*kernel=*/2)));
  EXPECT_EQ(store.Lookup(key)->Miss(), RecordMiss::kOtherSource);
  ASSERT_OK(store.Put(ConformingRecord("of a B200", "B200")));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kOtherDevice);
  ASSERT_OK(store.Put(ConformingRecord("of another driver", "H200", 12080)));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kOtherDriver);
  ASSERT_OK(store.Put(ConformingRecord("old")));
  const TuningRecord put = ConformingRecord("new");
  ASSERT_OK(store.Put(put));
  Result<RecordLookup> found = store.Lookup(key);
  ASSERT_OK(found);
  EXPECT_EQ(found->match, RecordMatch::kExact);
  ASSERT_TRUE(found->record);
  EXPECT_EQ(EncodeRecord(*found->record), EncodeRecord(put)) << "it comes back whole";
  EXPECT_FALSE(found->is_shipped);
  const std::vector<TuningRecord> all = *store.List();
  ASSERT_EQ(all.size(), 4u) << "the newer record replaces the older one";
  EXPECT_EQ(all.front().best.config, NamedConfig("other source"));
  EXPECT_EQ(all.back().best.config, NamedConfig("new"));
  EXPECT_FALSE(store.GetArtifact(put.best.artifact)->has_value()) << "a record brings no code";
  ASSERT_OK(store.Remove(key));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kOtherDriver);
  EXPECT_EQ(store.List()->size(), 3u);
}

/// An artifact comes back whole, under its own key, until another one replaces it; records stay as they are.
inline void ExpectKeepsArtifacts(RecordStore& store) {
  const std::size_t num_records = store.List()->size();
  const Fingerprint key{5, 1}, other{5, 2};
  EXPECT_FALSE(store.GetArtifact(key)->has_value());
  ASSERT_OK(store.PutArtifact(key, ConformingArtifact(std::string("\0image", 6))));
  ASSERT_OK(store.PutArtifact(other, ConformingArtifact(std::string(300000, 'o'))));
  Result<std::optional<Artifact>> found = store.GetArtifact(key);
  ASSERT_TRUE(found.ok() && *found) << found.status().message();
  EXPECT_EQ(EncodeArtifact(**found), EncodeArtifact(ConformingArtifact(std::string("\0image", 6))));
  EXPECT_EQ((*store.GetArtifact(other))->image.size(), 300000u);
  EXPECT_FALSE(store.GetArtifact(Fingerprint{5, 3})->has_value());
  ASSERT_OK(store.PutArtifact(key, ConformingArtifact("newer")));
  EXPECT_EQ((*store.GetArtifact(key))->image, "newer");
  EXPECT_EQ((*store.GetArtifact(other))->image.size(), 300000u);
  EXPECT_EQ(store.List()->size(), num_records);
}

/// One thread compiles an artifact, or tunes a key, at a time; nothing else is locked.
inline void ExpectLeases(RecordStore& store) {
  const Fingerprint key = Fingerprinter().Add("a").Finish(), other = Fingerprinter().Add("b").Finish();
  Result<TuningLease> held = store.LeaseArtifact(key, AtOnce());
  ASSERT_OK(held);
  EXPECT_EQ(store.LeaseArtifact(key, AtOnce()).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_OK(store.LeaseArtifact(other, AtOnce()));
  std::atomic<bool> cancelled{true};
  WaitLimits limits;
  limits.cancelled = &cancelled;
  EXPECT_EQ(store.LeaseArtifact(key, limits).status().code(), StatusCode::kCancelled);
  EXPECT_OK(store.PutArtifact(key, ConformingArtifact("under the lease")));
  *held = nullptr;
  EXPECT_OK(store.LeaseArtifact(key, AtOnce()));

  const TuningRecord record = ConformingRecord("leased");
  Result<TuningLease> tuning = store.Lease(record.key, AtOnce());
  ASSERT_OK(tuning);
  const StatusCode expected = tuning->use_count() > 0 ? StatusCode::kDeadlineExceeded : StatusCode::kOk;
  EXPECT_EQ(store.Lease(record.key, AtOnce()).status().code(), expected) << "a store that is not shared leases nothing";
  EXPECT_OK(store.Lease(ConformingRecord("", "B200").key, AtOnce()));
  EXPECT_OK(store.Put(record));
  *tuning = nullptr;
  EXPECT_OK(store.Lease(record.key, AtOnce()));
}

/// What every RecordStore does with records and code. REQUIRES: the store is empty and can be written.
inline void ExpectConforms(RecordStore& store) {
  ExpectKeepsRecords(store);
  ExpectKeepsArtifacts(store);
  ExpectLeases(store);
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_STORE_CONFORMANCE_H_
