// What the documentation's blocks of C++ may use without saying where it comes from: the reader knows by the text
// around them. A block may declare such a name itself. block_runner.cc defines them for the blocks that are run.
#ifndef TUNEONCE_TESTS_DOCS_NAMES_H_
#define TUNEONCE_TESTS_DOCS_NAMES_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "tuneonce/bundle.h"
#include "tuneonce/mpi_rank_group.h"
#include "tuneonce/redis_rank_group.h"
#include "tuneonce/redis_store.h"
#include "tuneonce/report.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuneonce.h"

using namespace tuneonce;  // NOLINT: blocks are what follows `using namespace tuneonce`.

extern Device device;
extern CUstream stream;
extern StreamView stream_view;
extern TensorView x, y, w;     // Tensors of the caller's.
extern KernelDefinition axpy;  // Scalar a, tensors x (In) and y (InOut) of the dim N.
extern KernelDefinition definition;
extern SearchSpace space;
extern AutotunePolicy policy;
extern TunedKernel kernel;       // Of the definition axpy.
extern const char* kSource;      // C++ for the CPU device.
extern const char* kCpuSource;   // The same.
extern const char* kCudaSource;  // CUDA C++.
extern std::string bytecode;     // CUDA Tile IR.
extern std::string ptx;
Status RunGemm(CUstream stream, std::int64_t algorithm, const void* a, const void* b, void* c,
               float alpha);  // A host's.
extern const char* store_bytes;
extern std::size_t store_size;
#if __has_include("rms_norm_bundle.h")  // What tuneonce_add_bundle declares.
#include "rms_norm_bundle.h"
#else
extern const EmbeddedBundle rms_norm_bundle;
#endif

#endif  // TUNEONCE_TESTS_DOCS_NAMES_H_
