/* doctor.h -- what people see of the machine: the checked list of --doctor and the table of --devices. */
#ifndef RUNTIME_DOCTOR_H
#define RUNTIME_DOCTOR_H

#include "base/buf.h"
#include "include/gpuexpr.h"

/* Look at driver, devices, compiler and cache, and run a kernel. One line a check: ok, warn, FAIL or a plain note, and below
 * what to do; or one JSON object {"version":1,"checks":[{name,state,detail,remedy}],"ok":bool}. opt may be NULL.
 * GX_OK when a kernel compiled and ran with the right result, else the status of what failed. */
gx_status doctor_text(const gx_options *opt, int json, struct buf *out);
/* The visible GPUs, one a line. DEVICE and *err when there is no usable driver. */
gx_status devices_text(struct buf *out, gx_error *err);

#endif
