/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SHIM_LINUX_LIMITS_H
#define __SHIM_LINUX_LIMITS_H

/* The C library's, which its own <limits.h> asks for, and what the kernel adds. */
#include_next <linux/limits.h>
#include <limits.h>
#include <stdint.h>

#ifndef U32_MAX
#define U32_MAX	UINT32_MAX
#endif
#ifndef U64_MAX
#define U64_MAX	UINT64_MAX
#endif

#endif /* __SHIM_LINUX_LIMITS_H */
