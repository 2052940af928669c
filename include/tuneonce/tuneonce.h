#ifndef TUNEONCE_TUNEONCE_H_
#define TUNEONCE_TUNEONCE_H_

// All headers of tuneonce. Include tuned_kernel.h for TunedKernel alone, or exhaustive_search.h for the search alone.

#include "tuneonce/arguments.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/geometry.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/parameters.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/option_table.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/search_strategy.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"
#include "tuneonce/runtime.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

#endif  // TUNEONCE_TUNEONCE_H_
