#ifndef TUNEONCE_BINDINGS_PYTHON_TILE_IR_COMPILE_H_
#define TUNEONCE_BINDINGS_PYTHON_TILE_IR_COMPILE_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds the class _TileIrCompile to the module: Tile IR bytecode that is compiled while Python goes on, with the
/// compilers, the limit of compiles at a time and the store in memory of the process's Runtime.
void AddTileIrCompile(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TILE_IR_COMPILE_H_
