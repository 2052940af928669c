#include "python_ranks.h"

#include <utility>

#include "python_signals.h"
#include "python_text.h"
#include "strict_value.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

constexpr char kGroupExpected[] = "an object with rank, size, put, get and put_once (tuneonce.ranks.RankGroup)";
constexpr int kMostRanks = 1 << 20;

Status StatusOfRaised(py::error_already_set& error) {
  if (!error.matches(PyExc_Exception)) {
    EndCallBy(error);
    return CancelledError("the ranks' group was interrupted");
  }
  if (error.matches(PyExc_TimeoutError)) return DeadlineExceededError(LineOf(error));
  return UnavailableError("the ranks' group raised " + LineOf(error));
}

/// Calls `call` with the GIL. An exception, or a result of another type, is an error.
template <typename T, typename Call>
Result<T> Ask(const char* method, const Call& call) {
  if (IsPythonOver()) return UnavailableError("Python ends");
  py::gil_scoped_acquire gil;
  try {
    return call();
  } catch (py::error_already_set& error) {
    return StatusOfRaised(error);
  } catch (const py::cast_error&) {
    return InvalidArgumentError(std::string("the ranks' group: ") + method + " returned something that is not bytes");
  }
}

std::string BytesOf(const py::object& given) {
  if (!py::isinstance<py::bytes>(given)) throw py::cast_error("not bytes");
  return given.cast<std::string>();
}
double Seconds(int wait_ms) { return wait_ms / 1000.0; }

}  // namespace

std::shared_ptr<RankGroup> PythonRanks::Of(py::handle given) {
  if (given.is_none()) return nullptr;
  for (const char* name : {"rank", "size", "put", "get", "put_once"}) {
    if (!py::hasattr(given, name)) ThrowWrongType("ranks", kGroupExpected, given);
  }
  const auto size = static_cast<int>(IntegerOf("ranks.size", given.attr("size"), 1, kMostRanks));
  const auto rank = static_cast<int>(IntegerOf("ranks.rank", given.attr("rank"), 0, size - 1));
  return std::shared_ptr<RankGroup>(new PythonRanks(py::reinterpret_borrow<py::object>(given), rank, size));
}

PythonRanks::~PythonRanks() {
  if (IsPythonOver()) {
    ranks_.release();
    return;
  }
  py::gil_scoped_acquire gil;
  ranks_ = py::object();
}

Status PythonRanks::Put(const std::string& name, const std::string& bytes) {
  return Ask<bool>("put",
                   [&] {
                     ranks_.attr("put")(name, py::bytes(bytes));
                     return true;
                   })
      .status();
}

Result<std::optional<std::string>> PythonRanks::Get(const std::string& name, int wait_ms) {
  return Ask<std::optional<std::string>>("get", [&]() -> std::optional<std::string> {
    py::object got = ranks_.attr("get")(name, Seconds(wait_ms));
    return got.is_none() ? std::nullopt : std::optional<std::string>(BytesOf(got));
  });
}

Result<std::string> PythonRanks::PutOnce(const std::string& name, const std::string& bytes, int wait_ms) {
  return Ask<std::string>("put_once",
                          [&] { return BytesOf(ranks_.attr("put_once")(name, py::bytes(bytes), Seconds(wait_ms))); });
}

}  // namespace tuneonce::python
