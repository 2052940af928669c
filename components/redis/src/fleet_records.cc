#include "fleet_records.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fleet_keys.h"
#include "store/kernel_fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Beside a record's field: the token that it was put under.
constexpr char kTokenSuffix[] = ":token";

// ARGV: field, record, token, milliseconds to keep, kernel. 0: another holds the lease, or held it after this one.
constexpr char kPutRecord[] = R"(
local token = tonumber(ARGV[3])
if token > 0 then
  local there = tonumber(redis.call('HGET', KEYS[1], ARGV[1] .. ':token') or 0)
  local holder = tonumber(string.match(redis.call('GET', KEYS[4]) or '0', '^%d+'))
  if there > token or holder > token then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], ARGV[1] .. ':token', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SADD', KEYS[3], ARGV[5])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[5]), ARGV[5] .. '/' .. ARGV[1])
return 1
)";

// ARGV: milliseconds to keep, kernel. All fields of the hash, then whether the shape has other kernels. Written only
// after half of the time, so that a lookup seldom waits for a disk.
constexpr char kLookup[] = R"(
local found = redis.call('HGETALL', KEYS[1])
if ARGV[1] ~= '0' then
  for _, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    if left >= 0 and left * 2 < tonumber(ARGV[1]) then redis.call('PEXPIRE', key, ARGV[1]) end
  end
end
local others = redis.call('SCARD', KEYS[2]) - redis.call('SISMEMBER', KEYS[2], ARGV[2])
return {found, others}
)";

constexpr char kRemove[] = R"(
redis.call('HDEL', KEYS[1], ARGV[1], ARGV[1] .. ':token')
return redis.call('ZREM', KEYS[2], ARGV[2] .. '/' .. ARGV[1])
)";

std::string HashOf(const std::string& kernel) { return "records/" + kernel; }

}  // namespace

Result<TuningRecord> FleetRecords::Open(const std::string& hash, const std::string& field,
                                        const std::string& bytes) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string body, server_.Open(hash + "/" + field, bytes));
  TUNEONCE_ASSIGN_OR_RETURN(TuningRecord record, DecodeRecord(body));
  const bool is_at_own_key = FullKey(record.key).ToString() == field;
  return is_at_own_key ? Result<TuningRecord>(std::move(record))
                       : InvalidArgumentError("the record belongs to another key");
}

Result<RecordLookup> FleetRecords::Lookup(const TuningKey& key) const {
  const std::string kernel = KernelKey(key).ToString(), hash = HashOf(kernel);
  TUNEONCE_ASSIGN_OR_RETURN(
      RedisReply reply,
      server_.Run(kLookup, {hash, fleet_keys::KernelsOf(key)},
                  {server_.options().read_only ? "0" : server_.KeepMs(), kernel}, server_.Deadline()));
  if (reply.elements.size() != 2)
    return InternalError("the store " + server_.place() + " returned an unexpected reply");
  const std::vector<RedisReply>& fields = reply.elements[0].elements;
  RecordLookup best;
  std::vector<TuningRecord> records;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const std::string& field = fields[i].text;
    if (field.find(kTokenSuffix) != std::string::npos) continue;
    Result<TuningRecord> record = Open(hash, field, fields[i + 1].text);
    if (record.ok()) {
      records.push_back(*std::move(record));
      continue;
    }
    const std::string words =
        absl::StrCat("a record of ", key.kernel, " in ", server_.place(), " is refused: ", record.status().message());
    best.NoteInstead(RecordMiss::kRefused, words);
    server_.Refused(store_, words);
  }
  // The newest first, as of records that fit alike the first is taken.
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.unix_seconds > b.unix_seconds; });
  for (TuningRecord& record : records) {
    RecordLookup found;
    found.match = MatchKeys(record.key, key);
    found.record = std::move(record);
    if (found.match != RecordMatch::kNotFound) best.Improve(std::move(found));
  }
  if (!best.record && reply.elements[1].integer > 0) best.NoteInstead(RecordMiss::kOtherSource);
  return best;
}

Status FleetRecords::Put(TuningRecord record, std::uint64_t token) {
  TUNEONCE_RETURN_IF_ERROR(server_.CheckWritable());
  if (token > 0) record.fencing_token = token;
  const std::string kernel = KernelKey(record.key).ToString(), field = FullKey(record.key).ToString();
  const std::string hash = HashOf(kernel);
  TUNEONCE_ASSIGN_OR_RETURN(RedisReply reply,
                            server_.Run(kPutRecord,
                                        {hash, fleet_keys::kIndex, fleet_keys::KernelsOf(record.key),
                                         fleet_keys::LeaseOf(record.key), fleet_keys::kPuts},
                                        {field, server_.Sign(hash + "/" + field, EncodeRecord(record)),
                                         std::to_string(token), server_.KeepMs(), kernel},
                                        server_.Deadline()));
  if (reply.integer == 1) return Status();
  return FailedPreconditionError("cannot store the record of " + record.key.kernel + " " + record.key.key_text +
                                 ": the lease for tuning the key passed to another host, whose record is kept in " +
                                 server_.place());
}

Status FleetRecords::Remove(const TuningKey& key) {
  TUNEONCE_RETURN_IF_ERROR(server_.CheckWritable());
  const std::string kernel = KernelKey(key).ToString();
  return server_
      .Run(kRemove, {HashOf(kernel), fleet_keys::kIndex}, {FullKey(key).ToString(), kernel}, server_.Deadline())
      .status();
}

Result<std::vector<TuningRecord>> FleetRecords::List(std::vector<std::string>* problems) const {
  TUNEONCE_ASSIGN_OR_RETURN(
      RedisReply index, server_.Call({"ZRANGE", server_.NameOf(fleet_keys::kIndex), "0", "-1"}, server_.Deadline()));
  std::vector<TuningRecord> records;
  for (const RedisReply& entry : index.elements) {
    const std::size_t slash = std::min(entry.text.find('/'), entry.text.size());
    const std::string hash = HashOf(entry.text.substr(0, slash));
    const std::string field = entry.text.substr(std::min(slash + 1, entry.text.size()));
    TUNEONCE_ASSIGN_OR_RETURN(RedisReply bytes,
                              server_.Call({"HGET", server_.NameOf(hash), field}, server_.Deadline()));
    if (bytes.is_nil()) continue;  // The record expired.
    Result<TuningRecord> record = Open(hash, field, bytes.text);
    if (record.ok()) {
      records.push_back(*std::move(record));
    } else if (problems != nullptr) {
      problems->push_back(absl::StrCat("record ", field, ": ", record.status().message()));
    }
  }
  return records;
}

}  // namespace v0
}  // namespace tuneonce
