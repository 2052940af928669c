#ifndef TUNEONCE_BINDINGS_PYTHON_SCALAR_READER_H_
#define TUNEONCE_BINDINGS_PYTHON_SCALAR_READER_H_

#include <Python.h>

#include <cstdint>
#include <string>

#include "tuneonce/parameters.h"

namespace tuneonce::python {

/// A call's scalar, as the word that the kernel gets: a float parameter takes numbers, an integer one ints that fit it,
/// a bool one truth values, numpy's scalars included; none takes a tensor, whose value would have to be waited for.
/// False with an exception set that names the kernel and the parameter.
bool ReadScalar(const std::string& kernel, const Parameter& parameter, PyObject* object, std::uint64_t* word);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_SCALAR_READER_H_
