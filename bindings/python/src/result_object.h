#ifndef TUNEONCE_BINDINGS_PYTHON_RESULT_OBJECT_H_
#define TUNEONCE_BINDINGS_PYTHON_RESULT_OBJECT_H_

#include <pybind11/pybind11.h>

#include "report/records_json.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::python {

/// Makes a tuneonce.TuningRecord of a record's JSON. Throws Python's exceptions. Needs the GIL.
inline pybind11::object RecordObject(const TuningRecord& record) {
  return pybind11::module_::import("tuneonce.result").attr("from_json")(RecordsToJson({record}))[pybind11::int_(0)];
}

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_RESULT_OBJECT_H_
