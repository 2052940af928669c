/* The C interface from C99, on the CPU device: c_interface_test BUNDLES_FOLDER. */
#include <stdio.h>
#include <string.h>

#include "tuneonce/c.h"

static int failures = 0;

#define EXPECT(condition)                                                                                \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      printf("line %d: %s is false; the last error: %s\n", __LINE__, #condition, tuneonce_last_error()); \
      ++failures;                                                                                        \
    }                                                                                                    \
  } while (0)

enum { kCount = 1000 };

static void CheckErrors(const char* bundle) {
  tuneonce_policy* policy = NULL;
  tuneonce_kernel* kernel = NULL;
  tuneonce_argument neither = {NULL, NULL, TUNEONCE_ANY};
  tuneonce_tensor tensor = {NULL, TUNEONCE_FLOAT32, 9, NULL, NULL, 0};
  tuneonce_argument deep = {NULL, NULL, TUNEONCE_ANY};
  tuneonce_argument unknown = {NULL, "", 99};
  const char* shape = "N=many";
  double value = 0;
  EXPECT(tuneonce_policy_create(NULL) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strcmp(tuneonce_last_error(), "policy is null") == 0);
  EXPECT(tuneonce_policy_create(&policy) == TUNEONCE_OK && strcmp(tuneonce_last_error(), "") == 0);
  EXPECT(tuneonce_policy_set(policy, "max_rouns", "3") == TUNEONCE_NOT_FOUND);
  EXPECT(strstr(tuneonce_last_error(), "option 'max_rouns' does not exist: give max_rounds") != NULL);
  EXPECT(tuneonce_policy_set(policy, "max_rounds", "-3") == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(tuneonce_policy_set(policy, "max_rounds", NULL) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(tuneonce_policy_set(policy, "store", "/proc/none/store.db") != TUNEONCE_OK);
  EXPECT(tuneonce_policy_set(policy, "store", "memory") == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_load("there_is_none", policy, &kernel) == TUNEONCE_NOT_FOUND && kernel == NULL);
  EXPECT(tuneonce_kernel_load(bundle, policy, NULL) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(tuneonce_kernel_load(bundle, policy, &kernel) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_launch(NULL, NULL, NULL, 0) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(tuneonce_kernel_launch(kernel, NULL, NULL, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(tuneonce_kernel_launch(kernel, NULL, &neither, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strcmp(tuneonce_last_error(), "argument 0 must be a tensor or a scalar: set one pointer") == 0);
  deep.tensor = &tensor;
  EXPECT(tuneonce_kernel_launch(kernel, NULL, &deep, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strcmp(tuneonce_last_error(), "argument 0 has 9 dimensions; 0 to 8 are possible") == 0);
  tensor.rank = 1;
  EXPECT(tuneonce_kernel_launch(kernel, NULL, &deep, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strstr(tuneonce_last_error(), "argument 0 has rank 1, but its shape is null") != NULL);
  EXPECT(tuneonce_kernel_launch(kernel, NULL, &deep, (size_t)-1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strstr(tuneonce_last_error(), "arguments; at most") != NULL);
  EXPECT(tuneonce_kernel_launch(kernel, NULL, &unknown, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strcmp(tuneonce_last_error(), "argument 0 has the dtype 99, which does not exist") == 0);
  EXPECT(tuneonce_kernel_launch(kernel, NULL, NULL, 0) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(tuneonce_kernel_warmup_shapes(kernel, NULL, &shape, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strstr(tuneonce_last_error(), "N is 'many': give a number, true, false or a dtype") != NULL);
  shape = "N=64 x=float32\n";
  EXPECT(tuneonce_kernel_warmup_shapes(kernel, NULL, &shape, 1) == TUNEONCE_INVALID_ARGUMENT);
  EXPECT(strstr(tuneonce_last_error(), "x is 'float32\\n'") != NULL && strchr(tuneonce_last_error(), '\n') == NULL);
  EXPECT(tuneonce_kernel_counter(kernel, "hit", &value) == TUNEONCE_NOT_FOUND);
  tuneonce_kernel_destroy(kernel);
  tuneonce_kernel_destroy(NULL);
  tuneonce_policy_destroy(policy);
  tuneonce_policy_destroy(NULL);
}

/* Tunes, explains, launches and freezes vector_add. On the CPU device the host reads the memory. */
static void CheckAKernel(tuneonce_context* context, const char* bundle) {
  float *data[3], *x, *y, *z;
  const int64_t shape[] = {kCount}, strides[] = {1};
  const char* const shapes[] = {"N=5000", "N=60"};
  const char* const named[] = {"softmax N=3000000", "vector_add N=2000000"};
  tuneonce_tensor tensors[3];
  tuneonce_argument arguments[3];
  tuneonce_policy* policy = NULL;
  tuneonce_kernel* kernel = NULL;
  tuneonce_plan plan;
  int missed = 0, is_ready = 1, i;
  double hits = -1, tunes = -1, tunes_after = -1;
  for (i = 0; i < 3; ++i) {
    void* allocated = NULL;
    EXPECT(tuneonce_context_allocate(context, kCount * sizeof(float), &allocated) == TUNEONCE_OK && allocated != NULL);
    data[i] = allocated;
  }
  x = data[0], y = data[1], z = data[2];
  for (i = 0; i < kCount; ++i) x[i] = (float)i, y[i] = 1;
  for (i = 0; i < 3; ++i) {
    tensors[i].data = data[i];
    tensors[i].dtype = TUNEONCE_FLOAT32;
    tensors[i].rank = 1;
    tensors[i].shape = shape;
    tensors[i].strides = i == 0 ? strides : NULL;
    tensors[i].bytes = 0;
    arguments[i].tensor = &tensors[i];
    arguments[i].scalar = NULL;
    arguments[i].scalar_dtype = TUNEONCE_ANY;
  }
  EXPECT(tuneonce_policy_create(&policy) == TUNEONCE_OK);
  EXPECT(tuneonce_policy_set(policy, "store", "memory") == TUNEONCE_OK);
  EXPECT(tuneonce_policy_set(policy, "max_rounds", "10") == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_load(bundle, policy, &kernel) == TUNEONCE_OK);
  tuneonce_policy_destroy(policy); /* The kernel has its own. */
  EXPECT(tuneonce_kernel_launch_if_ready(kernel, NULL, arguments, 3, &missed) == TUNEONCE_OK && missed == 1);
  EXPECT(tuneonce_kernel_is_ready(kernel, arguments, 3, &is_ready) == TUNEONCE_OK && is_ready == 0);
  EXPECT(tuneonce_kernel_explain(kernel, NULL, arguments, 3, &plan) == TUNEONCE_OK);
  EXPECT(strcmp(plan.action, "search") == 0 && strcmp(plan.reason, "no_record") == 0);
  EXPECT(tuneonce_kernel_launch(kernel, NULL, arguments, 3) == TUNEONCE_OK);
  EXPECT(tuneonce_context_synchronize(context) == TUNEONCE_OK);
  for (i = 0; i < kCount; ++i) EXPECT(z[i] == x[i] + 1);
  EXPECT(tuneonce_kernel_explain(kernel, NULL, arguments, 3, &plan) == TUNEONCE_OK);
  EXPECT(strcmp(plan.action, "selected") == 0 && strcmp(plan.origin, "search") == 0 && plan.config[0] != '\0');
  EXPECT(strstr(plan.key, "N") != NULL && plan.variant[0] != '\0');
  EXPECT(tuneonce_kernel_launch_if_ready(kernel, NULL, arguments, 3, &missed) == TUNEONCE_OK && missed == 0);
  EXPECT(tuneonce_kernel_warmup(kernel, NULL, arguments, 3) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_warmup_shapes(kernel, NULL, shapes, 2) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_counter(kernel, "tunes", &tunes) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_warmup_shapes(kernel, NULL, named, 1) == TUNEONCE_OK); /* Another kernel's. */
  EXPECT(tuneonce_kernel_counter(kernel, "tunes", &tunes_after) == TUNEONCE_OK && tunes_after == tunes);
  EXPECT(tuneonce_kernel_warmup_shapes(kernel, NULL, named, 2) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_counter(kernel, "tunes", &tunes_after) == TUNEONCE_OK && tunes_after == tunes + 1);
  EXPECT(tuneonce_kernel_tune_pending(kernel, NULL) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_freeze(kernel) == TUNEONCE_OK);
  EXPECT(tuneonce_kernel_counter(kernel, "hits", &hits) == TUNEONCE_OK && hits == 1);
  EXPECT(tuneonce_kernel_counter(kernel, "tunes", &tunes) == TUNEONCE_OK && tunes >= 1);
  tuneonce_kernel_destroy(kernel);
}

int main(int argc, char** argv) {
  char bundle[4096];
  tuneonce_context* context = NULL;
  if (argc != 2) return 2;
  snprintf(bundle, sizeof bundle, "%s/vector_add", argv[1]);
  EXPECT(strncmp(tuneonce_version(), "0.1.", 4) == 0);
  EXPECT(tuneonce_context_create("gpu", &context) == TUNEONCE_INVALID_ARGUMENT && context == NULL);
  EXPECT(tuneonce_context_create("cpu", &context) == TUNEONCE_OK);
  CheckErrors(bundle);
  CheckAKernel(context, bundle);
  tuneonce_context_destroy(context);
  tuneonce_context_destroy(NULL);
  printf("%d failures\n", failures);
  return failures != 0;
}
