// make_seeds FOLDER: valid inputs for the fuzzers of what is kept on disk, one folder each.
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdio>

#include "base/encoding.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/cubin.h"
#include "ranks/rank_messages.h"
#include "report/records_json.h"
#include "search/trial_messages.h"
#include "testing/record_changes.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "worker/channel.h"

namespace tuneonce {
namespace {

/// `bytes` without the checksum at their end: fuzzers add one.
std::string BodyOf(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(Fingerprint));
  return bytes;
}

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
  return store->PutArtifact(Fingerprint{1, 2}, artifact);
}

/// What a worker's message is on the socket, behind the fuzzer's own first byte.
Result<std::string> BytesOnTheSocket(std::uint32_t kind, const std::string& body) {
  TUNEONCE_ASSIGN_OR_RETURN(auto ends, Channel::MakePair());
  TUNEONCE_RETURN_IF_ERROR(ends.first.Send(kind, body, kNoDeadline));
  std::string bytes(body.size() + 64, '\0');
  ssize_t count = recv(ends.second.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return bytes.substr(0, count < 0 ? 0 : static_cast<std::size_t>(count));
}

/// Messages with each kind of field, and as they are on a socket.
Status MakeMessages(const std::string& folder) {
  const std::string list("\0\1\2\3\4\5\6\7\x8\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);  // 24 fields.
  Encoder writer;
  writer.U32(1).U64(2).I64(-3).F64(4.5).Bool(true).U32(2).Text("text").Bytes("bytes").Count(2).U32(8).U32(9);
  for (std::uint32_t i = 9; i < list.size(); ++i) writer.U32(i);
  const std::string body = writer.Take();
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/message/all", list + body));
  TUNEONCE_ASSIGN_OR_RETURN(std::string first, BytesOnTheSocket(1, body));
  TUNEONCE_ASSIGN_OR_RETURN(std::string second, BytesOnTheSocket(2, ""));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/channel/two", "\x1e" + first + second));
  return WriteFile(folder + "/channel/one", "\x3" + second);
}

/// An answer of a worker's and a candidate, each with a value in every field.
Status MakeTrials(const std::string& folder) {
  TrialReply reply;
  reply.status = Status::FromDriver(StatusCode::kInternal, "illegal address", 700, /*sticky=*/true);
  reply.handle = std::string(64, 'h');
  reply.failure = CandidateOutcome::Failed(Config(), OutcomeKind::kRun, "it failed", true);
  reply.largest_difference = OutputDifference{"y", 1, 0.5};
  reply.times_us = {1.5, 2.5};
  reply.timer = "events";
  reply.notes = {"a note"};
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/trial/reply", std::string(1, '\0') + EncodeMessage(reply)));
  PrepareRequest request;
  TrialDescription& trial = request.trial;
  trial.kernel = "k";
  trial.config = Config::Of({{"TILE", AxisKind::kStructural, std::int64_t{64}}}).Canonical();
  trial.geometry = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
  trial.image = "image";
  trial.symbol = "k";
  trial.dims = {"N"};
  trial.dim_values = {8};
  trial.parameters.resize(3);
  trial.parameters[0].name = "x";
  trial.parameters[0].dims = {"N"};
  trial.parameters[0].dtype = DType::kFloat32;
  trial.parameters[0].argument = TrialDescription::Tensor{256, DType::kFloat32, {8}, {1}, 32};
  trial.parameters[1].name = "map";
  trial.parameters[1].kind = ParameterKind::kDescriptor;
  trial.parameters[1].tensor = "x";
  trial.parameters[1].map = TrialDescription::Map{{8}, {1}};
  trial.parameters[2].name = "n";
  trial.parameters[2].kind = ParameterKind::kDerived;
  trial.parameters[2].dtype = DType::kInt32;
  return WriteFile(folder + "/trial/prepare", "\1" + EncodeMessage(request));
}

/// Each kind of message between ranks, without its checksum, behind the fuzzer's own first byte.
Status MakeRankMessages(const std::string& folder) {
  const Fingerprint key{1, 2}, other{3, 4};
  Vote vote;
  vote.kind = "a device";
  vote.keys = {{key, other, KeyVote::kStored, other, key, other, 1000}, {other, key, KeyVote::kNothing, {}, {}, {}, 1}};
  const std::vector<std::pair<char, std::string>> messages = {
      {0, EncodeVote(vote)},
      {1, EncodeDecisions({{key, std::string("a record")}, {other, InternalError("none")}})},
      {2, EncodeChecks({{key, other}, {other, InternalError("none")}})},
      {3, EncodeClaim({1, "sent nothing for 60000 ms"})},
      {4, WithChecksum(Encoder().U64(1).U64(2).U64(3).U64(4).Take())},
  };
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string body = messages[i].first + BodyOf(messages[i].second);
    TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/ranks/" + std::to_string(i), body));
  }
  return Status();
}

Status MakeAll(const std::string& folder) {
  for (const char* name :
       {"", "/record", "/artifact", "/records_json", "/store", "/message", "/channel", "/trial", "/ranks"}) {
    mkdir((folder + name).c_str(), 0700);
  }
  TUNEONCE_RETURN_IF_ERROR(MakeRankMessages(folder));
  TUNEONCE_RETURN_IF_ERROR(MakeMessages(folder));
  TUNEONCE_RETURN_IF_ERROR(MakeTrials(folder));
  std::vector<TuningRecord> records = Records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string name = std::to_string(i);
    TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/record/" + name, BodyOf(EncodeRecord(records[i]))));
    TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/records_json/" + name, RecordsToJson({records[i]})));
  }
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/records_json/all", RecordsToJson(records)));
  TUNEONCE_ASSIGN_OR_RETURN(Artifact two_kernels, CubinArtifact("two_kernels.cubin", "add"));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(folder + "/artifact/cubin", BodyOf(EncodeArtifact(two_kernels))));
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
