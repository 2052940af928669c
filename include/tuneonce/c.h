#ifndef TUNEONCE_C_H_
#define TUNEONCE_C_H_

/*
 * The C interface: it loads bundles, tunes and launches them, for engines in C and for languages that call C. It is
 * stable within the versions 0.1.x: functions and members keep their meaning, and enumerators keep their numbers.
 *
 * Every function that can fail returns a tuneonce_status, and tuneonce_last_error() has the error's one line of text.
 * No function throws, and none aborts the process. The thread rules are those of the C++ class TunedKernel: any thread
 * may launch. A null kernel, or another null pointer where none is allowed, is TUNEONCE_INVALID_ARGUMENT.
 */

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#if defined(TUNEONCE_SHARED) && defined(__GNUC__)
#define TUNEONCE_C_API __attribute__((visibility("default")))
#else
#define TUNEONCE_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to; the numbers are those of the C++ enum StatusCode. */
typedef enum tuneonce_status {
  TUNEONCE_OK = 0,
  TUNEONCE_CANCELLED = 1,
  TUNEONCE_INVALID_ARGUMENT = 2, /* The caller's input is invalid. */
  TUNEONCE_DEADLINE_EXCEEDED = 3,
  TUNEONCE_NOT_FOUND = 4,
  TUNEONCE_RESOURCE_EXHAUSTED = 5,
  TUNEONCE_FAILED_PRECONDITION = 6, /* For example: no current context, or a stream that captures. */
  TUNEONCE_UNIMPLEMENTED = 7,
  TUNEONCE_INTERNAL = 8,
  TUNEONCE_UNAVAILABLE = 9, /* A driver, library or tool is missing. */
  TUNEONCE_DATA_LOSS = 10   /* Data of the caller was overwritten. */
} tuneonce_status;

/* The type of elements or of a scalar; the numbers are those of the C++ enum DType. */
typedef enum tuneonce_dtype {
  TUNEONCE_ANY = 0,
  TUNEONCE_BOOL = 1,
  TUNEONCE_INT8 = 2,
  TUNEONCE_UINT8 = 3,
  TUNEONCE_INT16 = 4,
  TUNEONCE_UINT16 = 5,
  TUNEONCE_INT32 = 6,
  TUNEONCE_UINT32 = 7,
  TUNEONCE_INT64 = 8,
  TUNEONCE_UINT64 = 9,
  TUNEONCE_FLOAT8_E4M3 = 10,
  TUNEONCE_FLOAT8_E5M2 = 11,
  TUNEONCE_FLOAT16 = 12,
  TUNEONCE_BFLOAT16 = 13,
  TUNEONCE_FLOAT32 = 14,
  TUNEONCE_FLOAT64 = 15
} tuneonce_dtype;

/* Options of kernels. */
typedef struct tuneonce_policy tuneonce_policy;
/* A device's primary context that is current. */
typedef struct tuneonce_context tuneonce_context;
/* A kernel that tunes itself once per key. */
typedef struct tuneonce_kernel tuneonce_kernel;

/* Device memory with a shape. It is read only during the call that it is passed to. */
typedef struct tuneonce_tensor {
  void* data;
  int dtype;              /* A tuneonce_dtype. */
  int rank;               /* At most 8. 0 for memory without a shape. */
  const int64_t* shape;   /* `rank` extents, outermost first. Null for memory without a shape, of `bytes` bytes. */
  const int64_t* strides; /* `rank` strides in elements. Null: row-major without gaps. */
  size_t bytes;           /* Used for memory without a shape only. */
} tuneonce_tensor;

/* A tensor or a scalar. Exactly one of the two pointers is not null. */
typedef struct tuneonce_argument {
  const tuneonce_tensor* tensor;
  const void* scalar; /* Points to one value of `scalar_dtype`. */
  int scalar_dtype;   /* A tuneonce_dtype. Not used for a tensor. */
} tuneonce_argument;

/* What a launch would run and why. All texts are valid until the thread's next call of tuneonce_kernel_explain. */
typedef struct tuneonce_plan {
  const char* action;  /* "nothing", "selected", "fallback" or "search". */
  const char* reason;  /* "ready", "stored", "no_record", "guard", "pending", "frozen", ...: docs/troubleshooting.md. */
  const char* origin;  /* Where the selected config comes from: "none", "search", "store", "shipped", "pinned", ... */
  const char* config;  /* "TILE=64, occupancy=2". Empty: not known yet. */
  const char* variant; /* Empty: not known yet. */
  const char* key;     /* "M<=128, x:float16". */
  const char* detail;  /* An explanation for people. May be empty. */
} tuneonce_plan;

/* Returns the library's version: "0.1.0". */
TUNEONCE_C_API const char* tuneonce_version(void);
/* Returns the text of the calling thread's last error, or "". It is valid until the thread's next call. */
TUNEONCE_C_API const char* tuneonce_last_error(void);

/* Opens a device ("cuda", "cuda:1", "cpu"), retains its primary context and makes it current for the calling thread. A
 * host with a current context of its own needs no such object. "cpu" is for tests on machines without a GPU, with
 * the memory and the null stream of the next functions. The same thread destroys it. */
TUNEONCE_C_API tuneonce_status tuneonce_context_create(const char* device, tuneonce_context** context);
/* Allocates `bytes` bytes of device memory, which lives until the context is destroyed. On the CPU device the host may
 * read and write it. */
TUNEONCE_C_API tuneonce_status tuneonce_context_allocate(tuneonce_context* context, size_t bytes, void** data);
/* Waits until all work of the null stream is done. */
TUNEONCE_C_API tuneonce_status tuneonce_context_synchronize(tuneonce_context* context);
/* Frees the context's memory, and makes the context that was current before the current one again. Null is allowed. */
TUNEONCE_C_API void tuneonce_context_destroy(tuneonce_context* context);

/* Makes options with their defaults. The caller destroys them. */
TUNEONCE_C_API tuneonce_status tuneonce_policy_create(tuneonce_policy** policy);
/* Sets an option of docs/options.md by its name and the text of its value: ("mode", "stored_only"); or "store" to a
 * file, "memory" (default: the user's own store). Errors: NOT_FOUND for another name; INVALID_ARGUMENT for a value. */
TUNEONCE_C_API tuneonce_status tuneonce_policy_set(tuneonce_policy* policy, const char* name, const char* value);
/* Destroys options. Kernels that were loaded with them keep theirs. Null is allowed. */
TUNEONCE_C_API void tuneonce_policy_destroy(tuneonce_policy* policy);

/* Loads a bundle from its folder or by its name, without needing a context. `policy` may be null: the defaults. The
 * caller destroys the kernel. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_load(const char* folder_or_name, const tuneonce_policy* policy,
                                                    tuneonce_kernel** kernel);
/* Unloads a kernel. No launch may be running, and no graph that was captured from it may be instantiated again. Null is
 * allowed. */
TUNEONCE_C_API void tuneonce_kernel_destroy(tuneonce_kernel* kernel);

/* Enqueues one launch on `stream`, with the tensors and scalars of the bundle in its order. The first launch of a key
 * tunes it if the mode allows that. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_launch(tuneonce_kernel* kernel, CUstream stream,
                                                      const tuneonce_argument* arguments, size_t count);
/* Launches if what is to run is loaded. Otherwise it launches nothing and sets `*missed` to 1. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_launch_if_ready(tuneonce_kernel* kernel, CUstream stream,
                                                               const tuneonce_argument* arguments, size_t count,
                                                               int* missed);
/* Tunes or loads the key of these arguments, without launching on them. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_warmup(tuneonce_kernel* kernel, CUstream stream,
                                                      const tuneonce_argument* arguments, size_t count);
/* Tunes or loads the keys of `count` shapes, each a text such as "M=64 N=4096 causal=1 x=float16", or such as "matmul
 * M=64 N=4096": a text that names another kernel than this one is skipped, so that the lines of a file of
 * TUNEONCE_RECORD_SHAPES can be passed as they are. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_warmup_shapes(tuneonce_kernel* kernel, CUstream stream,
                                                             const char* const* shapes, size_t count);
/* Tunes the keys that launches met in the mode tune_deferred. To be called between two steps of the host. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_tune_pending(tuneonce_kernel* kernel, CUstream stream);
/* Ends all tuning of the kernel: launches of new keys run the fallback config from now on. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_freeze(tuneonce_kernel* kernel);
/* Sets `*is_ready` to 1 if the next launch with such arguments would run a selected config that is loaded. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_is_ready(const tuneonce_kernel* kernel,
                                                        const tuneonce_argument* arguments, size_t count,
                                                        int* is_ready);
/* Sets `*plan` to what the next launch with such arguments would run, and why. Nothing is launched or tuned. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_explain(const tuneonce_kernel* kernel, CUstream stream,
                                                       const tuneonce_argument* arguments, size_t count,
                                                       tuneonce_plan* plan);
/* Sets `*value` to a counter by its name: "hits", "tunes", "stored_hits", "fallbacks", ... (the C++ struct Counters).
 * Errors: NOT_FOUND for another name. */
TUNEONCE_C_API tuneonce_status tuneonce_kernel_counter(const tuneonce_kernel* kernel, const char* name, double* value);

#ifdef __cplusplus
}
#endif

#endif /* TUNEONCE_C_H_ */
