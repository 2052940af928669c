#ifndef TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_ORACLE_H_
#define TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_ORACLE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/feature_matrix/case.h"
#include "tuneonce/result.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::testing {

/// The arguments of one launch of the matrix's kernel, y = x * factor.
struct MatrixCall {
  int n = 0;
  bool is_int = false;
  float factor = 2;
  bool is_regular = true;  ///< Else x is not aligned, or strided: what only the general variant takes.
};

/// A config, by its value of WORK, as one of the variants runs it.
struct Ran {
  int work = 0;
  bool is_general = false;

  /// What the kernel reports.
  int mark() const { return work + (is_general ? 1000 : 0); }
  friend bool operator==(const Ran& a, const Ran& b) { return a.mark() == b.mark(); }
};

/// What must happen, as docs/internal/modes.md has it, by no code of the library: each function does to a few sets of
/// names what the function of a TunedKernel of that name promises. WORK is 100 (the baseline), 50 (the second one) or
/// 1, and less is faster.
class Oracle {
 public:
  explicit Oracle(const Case& c) : case_(c) {}

  struct Answer {
    StatusCode code = StatusCode::kOk;
    Ran ran;  ///< If it is OK.
  };
  /// Another process tuned `call`, and this is what became of its record.
  void Prepare(const MatrixCall& call);
  Answer Launch(const MatrixCall& call, bool is_captured = false);
  StatusCode Warmup(const MatrixCall& call);
  StatusCode TunePending();
  void Freeze();
  /// The calls that follow are made on this device.
  void Use(int device) { device_ = device; }
  /// A new TunedKernel on the same store.
  void Restart();
  /// Whether what stands in for the selection in this call could be had now.
  bool HasFallback(const MatrixCall& call) const;
  void set_counters(const Counters& counters) { counters_ = counters; }

  /// Only what it says anything about.
  const Counters& counters() const { return counters_; }
  /// False: nothing may have been compiled.
  bool may_have_compiled() const { return has_compiled_; }
  /// "N=1024" or "G=2, N=1024", with "other driver" or "incomplete" where that is so; sorted. Not of a failing store.
  std::vector<std::string> Records() const;
  std::int64_t num_pending() const;

 private:
  struct Record {
    std::string key;
    MatrixCall call;  // That it was tuned for.
    bool is_int = false;
    std::string tuned_at;
    Ran selection, baseline;
    bool has_artifacts = true;
    bool is_complete = true;
    bool is_other_driver = false;
  };
  struct OnDevice {
    std::map<std::string, Ran> selections;
    std::map<std::string, std::vector<Ran>> fallbacks;
    std::map<std::string, MatrixCall> waiting;
    std::map<std::string, MatrixCall> cut_short;  // They run a stored config whose search TunePending continues.
    std::map<std::string, MatrixCall> predicted;  // They run a predicted config until TunePending searches.
    std::set<std::string> failed;
  };

  OnDevice& here() { return on_device_[device_]; }
  std::string KeyOf(const MatrixCall& call) const;
  /// The N that a call's key is tuned at.
  int TunedAt(const MatrixCall& call) const;
  bool GuardHolds(const Ran& ran, int n) const;
  bool Suits(const Ran& ran, const MatrixCall& call) const;
  int BaselineWork(int n) const;
  Ran FallbackOf(const MatrixCall& call) const;
  Record RecordOf(const MatrixCall& call) const;

  bool can_compile() const { return case_.compiler() == Compiler::kPresent; }
  /// Code that is no record's: compiled before, or now if that may be.
  bool CanGetCode(const Ran& ran, bool is_int, bool may_compile) const;
  void GetCode(const Ran& ran, bool is_int);
  const Record* FindRecord(const std::string& key) const;
  bool StoredCodeOf(const Record& record, const Ran& ran) const;

  Answer Fallback(const MatrixCall& call, bool is_captured);
  bool Serve(const MatrixCall& call, bool may_compile);
  /// A search's selection. False: it failed.
  bool Search(const MatrixCall& call);
  /// What the records of other keys, or of another driver, predict, after a comparison with the baseline. False: there
  /// are none, or nothing can be compared.
  bool Predict(const MatrixCall& call);
  /// The stored selection, else a predicted one unless TunePending asks (`is_idle`), else a search's. False: none.
  bool Choose(const MatrixCall& call, bool is_idle = false);
  Answer RunSelected(const MatrixCall& call, bool is_captured);

  const Case case_;
  int device_ = 0;
  bool is_frozen_ = false;
  bool has_compiled_ = false;
  Counters counters_;
  std::map<int, OnDevice> on_device_;
  std::vector<Record> records_;
  std::set<std::pair<int, bool>> compiled_;  // Marks and is_int, in the store's artifacts.
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_ORACLE_H_
