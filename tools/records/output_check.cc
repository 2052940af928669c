#include "records/output_check.h"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/short_list.h"
#include "console/output.h"
#include "records/records_store.h"
#include "store/default_store.h"
#include "store/store_place.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// What SQLite and the store keep next to a store's file.
constexpr const char* kSuffixes[] = {"-wal", "-shm", ".lock"};

/// Returns an absolute path without links, also for a file that does not exist yet.
std::string PlaceOf(const std::string& path) {
  const Result<std::string> followed = OutputTarget(path);
  const std::string& target = followed.ok() ? *followed : path;
  const std::size_t name = target.rfind('/') + 1;  // 0 without a slash.
  const std::string folder = RealPath(name == 0 ? "." : target.substr(0, name));
  return folder.empty() ? AbsolutePath(target) : absl::StrCat(folder == "/" ? "" : folder, "/", target.substr(name));
}

bool IsSameFile(const std::string& a, const std::string& b) {
  if (PlaceOf(a) == PlaceOf(b)) return true;
  struct stat x {
  }, y{};
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

bool IsStore(const std::string& path) {
  const Result<StoreFile> mark = ReadMark(path);
  return mark.ok() && *mark != StoreFile::kMissing;
}

Status Refusal(const std::string& output, const std::string& why) {
  return InvalidArgumentError(absl::StrCat("cannot write ", output, ": ", why, ": write to another file"));
}

Status CheckInputs(const std::string& output, const std::vector<std::string>& inputs) {
  for (std::string input : inputs) {
    if (IsFleetAddress(input)) continue;
    if (input.empty()) {
      TUNEONCE_ASSIGN_OR_RETURN(input, DefaultStorePath(Runtime::Default()->environment()));
    }
    if (!IsSameFile(output, input)) continue;
    return Refusal(output, absl::StrCat(output == input ? "it" : absl::StrCat("it is the file ", input, ", which"),
                                        " is one of the inputs"));
  }
  return Status();
}

/// Returns an error if the store at `place` has records of other kernels.
Status CheckOnlyHas(const std::string& kernel, const std::string& place, const std::string& output) {
  Result<std::shared_ptr<AnyStore>> store = OpenStore(place, /*for_reading=*/true);
  TUNEONCE_RETURN_IF_ERROR(store.status().WithPrefix("cannot replace the store " + output));
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<TuningRecord> records, (*store)->List());
  std::set<std::string> others;
  for (const TuningRecord& record : records) {
    if (record.key.kernel != kernel) others.insert(record.key.kernel);
  }
  if (others.empty()) return Status();
  return Refusal(output, absl::StrCat(place, " is a tuneonce store with records of other kernels (",
                                      ShortList({others.begin(), others.end()}), ")"));
}

}  // namespace

Status CheckOutput(const std::string& output, const std::vector<std::string>& inputs) {
  TUNEONCE_RETURN_IF_ERROR(CheckInputs(output, inputs));
  const std::string place = PlaceOf(output);
  if (IsStore(place)) return Refusal(output, absl::StrCat(place, " is a tuneonce store"));
  for (const std::string suffix : kSuffixes) {
    if (!absl::EndsWith(place, suffix)) continue;
    const std::string store = place.substr(0, place.size() - suffix.size());
    if (IsStore(store)) return Refusal(output, absl::StrCat("it belongs to the tuneonce store ", store));
  }
  return Status();
}

Status CheckStoreOutput(const std::string& output, const std::vector<std::string>& inputs, const std::string& kernel) {
  TUNEONCE_RETURN_IF_ERROR(CheckInputs(output, inputs));
  const std::string place = PlaceOf(output);
  if (!IsStore(place)) {
    // SQLite would apply a log that was left here to the new store.
    const std::optional<std::string> log = LogOf(place);
    if (!log) return Status();
    return FailedPreconditionError(absl::StrCat("cannot write ", output, ": ", *log,
                                                " of another database exists; remove it, or write to another file"));
  }
  if (!kernel.empty()) TUNEONCE_RETURN_IF_ERROR(CheckOnlyHas(kernel, place, output));
  const Status folded = FoldLog(place);
  if (folded.ok()) return folded;
  return FailedPreconditionError(
      absl::StrCat("cannot replace the store ", output, ": ", folded.message(), "; write to another file"));
}

}  // namespace v0
}  // namespace tuneonce
