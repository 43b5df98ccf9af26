/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's own header, and nothing else of the kernel's include/. */
#include "../../../../include/linux/kvm_halt_poll.h"
