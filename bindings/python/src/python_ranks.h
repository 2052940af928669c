#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_RANKS_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_RANKS_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "tuneonce/plugin/rank_group.h"

namespace tuneonce::python {

/// A group of ranks that a Python object implements, with `rank`, `size`, `put(name, bytes)`, `get(name, wait_s)` and
/// `put_once(name, bytes, wait_s)` (tuneonce.ranks.RankGroup). A TimeoutError from it becomes DeadlineExceeded, and
/// another Exception Unavailable. KeyboardInterrupt and the like end the call that the thread is in. Thread rule: that
/// of RankGroup, with or without the GIL, which it acquires in its calls.
class PythonRanks final : public RankGroup {
 public:
  /// Throws a TypeError or ValueError if the object is not a group. Needs the GIL.
  static std::shared_ptr<RankGroup> Of(pybind11::handle given);
  ~PythonRanks() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Status Put(const std::string& name, const std::string& bytes) override;
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override;
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override;

 private:
  PythonRanks(pybind11::object ranks, int rank, int size) : ranks_(std::move(ranks)), rank_(rank), size_(size) {}

  pybind11::object ranks_;
  const int rank_, size_;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_PYTHON_RANKS_H_
