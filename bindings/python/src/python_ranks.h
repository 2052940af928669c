#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_RANKS_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_RANKS_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "tuneonce/rank_group.h"

namespace tuneonce::python {

/// A Python object with `rank`, `size`, `put(name, bytes)`, `get(name, wait_s)` and `put_once(name, bytes, wait_s)`
/// (tuneonce.ranks.RankGroup) as a group of ranks. What it raises is an error: a TimeoutError DeadlineExceeded, what
/// else is an Exception Unavailable; KeyboardInterrupt and the like end the call that the thread is in. Thread rule: as
/// RankGroup; with or without the GIL, which it takes within its calls alone.
class PythonRanks final : public RankGroup {
 public:
  /// Throws a TypeError or ValueError if it is none. With the GIL.
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
